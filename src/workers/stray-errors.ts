import { writeSync } from 'node:fs';
import type { Logger } from 'pino';
import { messageOf } from '../evaluation/error-message';
import { nameWorkInHand, refuseExits, strayThrow, watchMicrotasks } from '../evaluation/foreign-work';

/** One timer may throw again and again. */
const MOST_TOLD_OF_ONE = 20;
const MOST_TOLD = 10_000;

/**
 * What code of a plug-in forgot must not end everybody's work: a promise nobody waits for, an error in a timer, `process.exit`. It fails
 * the evaluator or rollout whose code it is. Errors of nobody's plug-in still end the process, since nobody knows what they left behind.
 */
export function outliveStrays(logger: Logger): void {
  const tell = telling(logger);
  refuseExits();
  const onThrown = (error: unknown) => {
    const stray = strayThrow(error);
    if (stray === null) endBy(error);
    else tell(stray.subject, {}, stray.text);
  };
  watchMicrotasks(onThrown);
  process.on('uncaughtException', onThrown);
  process.on('unhandledRejection', (reason) => {
    const work = nameWorkInHand();
    const fields = { error: messageOf(reason), ...(work !== null && { work }) };
    tell(work ?? '', fields, 'a promise nobody waits for was rejected');
  });
}

function telling(logger: Logger): (subject: string, fields: object, text: string) => void {
  const counts = new Map<string, number>();
  let total = 0;
  return (subject, fields, text) => {
    const count = (counts.get(subject) ?? 0) + 1;
    counts.set(subject, count);
    if (count > MOST_TOLD_OF_ONE || total >= MOST_TOLD) return;
    total += 1;
    logger.error(fields, text);
    if (count === MOST_TOLD_OF_ONE)
      logger.error({ work: subject }, 'its errors that nobody catches are not told any more');
  };
}

/** Said as Node.js says it. What native libraries do at an orderly end may wait for what is broken, so it is none. */
function endBy(error: unknown): void {
  const stack: unknown = error instanceof Error ? error.stack : null;
  writeSync(2, `${typeof stack === 'string' ? stack : messageOf(error)}\n`);
  process.kill(process.pid, 'SIGKILL');
}
