import type { Steps } from './steps';
import { finish, inSteps, letOthers } from './steps';

/** Characters. What is shorter is read at once. */
const LARGE = 256 * 1024;

interface Work<Value> {
  /** Of the body. */
  readonly length: number;
  readonly steps: () => Steps<Value>;
}

/**
 * Reads large bodies one at a time. Each step of one holds the event loop; after each, everybody else who asks for something is
 * answered.
 */
export class BodyTurns {
  private last: Promise<unknown> = Promise.resolve();
  private use: Promise<unknown> = Promise.resolve();

  /** What waits for the value goes on before the next body is looked at. */
  read<Value>({ length, steps }: Work<Value>): Promise<Value> {
    if (length <= LARGE) return atOnce(steps);
    const value = this.last.then(() => inSteps(steps()));
    this.last = value.then(letOthers, letOthers).then(() => this.use);
    return value;
  }

  /** What is done with the body that was read last: the next one waits for it too. */
  goOn<Value>({ length, steps }: Work<Value>): Promise<Value> {
    if (length <= LARGE) return atOnce(steps);
    const value = inSteps(steps());
    this.use = value.then(letOthers, letOthers);
    return value;
  }
}

async function atOnce<Value>(steps: () => Steps<Value>): Promise<Value> {
  return finish(steps());
}
