import type { Logger } from 'pino';
import { messageOf } from '../evaluation/error-message';
import { nameWorkInHand, refuseExits, strayThrow } from '../evaluation/foreign-work';

/** One timer may throw again and again. */
const MOST_TOLD = 100;

/**
 * What code of a plug-in forgot must not end everybody's work: a promise nobody waits for, an error in a timer, `process.exit`. It fails
 * the evaluator or rollout whose code it is. Errors of nobody's plug-in still end the process, since nobody knows what they left behind.
 */
export function outliveStrays(logger: Logger): void {
  let toldCount = 0;
  const tell = (fields: object, text: string) => {
    toldCount += 1;
    if (toldCount <= MOST_TOLD) logger.error(fields, text);
    if (toldCount === MOST_TOLD) logger.error('errors that nobody catches are not told any more');
  };
  refuseExits();
  process.on('unhandledRejection', (reason) => {
    const work = nameWorkInHand();
    tell(
      { error: messageOf(reason), ...(work !== null && { work }) },
      'a promise nobody waits for was rejected',
    );
  });
  process.on('uncaughtException', (error) => {
    const told = strayThrow(error);
    if (told === null) endBy(error);
    else tell({}, told);
  });
}

/** As Node.js does by itself. */
function endBy(error: Error): never {
  process.stderr.write(`${error.stack ?? messageOf(error)}\n`);
  process.exit(1);
}
