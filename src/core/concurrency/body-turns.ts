/** A new connection is taken in one round of the loop and read in the next. */
const ROUNDS = 3;
/** Characters. What is shorter is read at once. */
const LARGE = 256 * 1024;

interface BodySteps<Value> {
  readonly length: number;
  /** Throws for a text that is not to be parsed. */
  readonly check: () => void;
  readonly parse: () => Value;
}

/**
 * Reads large bodies one at a time. Each step of one holds the event loop, and so does the look at what it says; after each, everybody
 * else who asks for something is answered.
 */
export class BodyTurns {
  private last: Promise<unknown> = Promise.resolve();

  /** What waits for the value goes on before the next body is looked at. */
  read<Value>(steps: BodySteps<Value>): Promise<Value> {
    if (steps.length <= LARGE) return inSteps(steps);
    const value = this.last.then(() => inSteps(steps));
    this.last = value.then(letOthers, letOthers);
    return value;
  }
}

async function inSteps<Value>({ length, check, parse }: BodySteps<Value>): Promise<Value> {
  check();
  if (length <= LARGE) return parse();
  await letOthers();
  const value = parse();
  await letOthers();
  return value;
}

async function letOthers(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}
