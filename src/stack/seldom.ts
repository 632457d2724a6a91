const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * Passes lines on to a person who need not read the same one over and over: at once where it is another than the last, however its
 * numbers change, and otherwise at growing intervals, with how often it would have been said.
 */
export function tellSeldom(
  tell: (line: string) => void,
  now: () => number = () => performance.now(),
): (line: string) => void {
  let last: string | null = null;
  let pauseMs = 0;
  let dueAt = 0;
  let passedOver = 0;
  return (line) => {
    const kind = line.replaceAll(/\d+/g, '#');
    if (kind === last && now() < dueAt) {
      passedOver++;
      return;
    }
    pauseMs = kind === last ? Math.min(pauseMs * 2, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
    tell(
      passedOver > 0 && kind === last ? `${line} (${passedOver} times more since it was last said.)` : line,
    );
    last = kind;
    passedOver = 0;
    dueAt = now() + pauseMs;
  };
}
