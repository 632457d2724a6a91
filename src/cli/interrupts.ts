import { whenShellOfNpxIsGone } from '../stack/shell-of-npx';
import { EXIT } from './exit-codes';
import type { Output } from './output';

/** Ctrl-C and termination asked of a command, as a signal it can end by itself on. */
export interface Interrupts {
  readonly signal: AbortSignal;
  /** Gives the signals back to whoever handled them before. */
  dispose(): void;
}

const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** npx passes on the Ctrl-C that the terminal has sent here too: what comes this soon after is the same one. */
const ECHO_MS = 400;

/**
 * The first one asks the command to end, and says so at once; the second one ends the process on the spot. A stack
 * that was started for the command sees that its client has gone, and stops by itself.
 */
export function catchInterrupts(
  output: Pick<Output, 'note' | 'status'>,
  answer = 'Stopping… (Ctrl-C again leaves at once)',
): Interrupts {
  const controller = new AbortController();
  let firstAt = 0;
  const onSignal = () => {
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      output.status(null);
      output.note(answer);
      controller.abort();
      return;
    }
    if (performance.now() - firstAt >= ECHO_MS) process.exit(EXIT.interrupted);
  };
  for (const name of NAMES) process.on(name, onSignal);
  // Ctrl-C ends the shell too: that is no second one.
  const stopLooking = whenShellOfNpxIsGone(() => {
    if (!controller.signal.aborted) onSignal();
  });
  return {
    signal: controller.signal,
    dispose: () => {
      stopLooking();
      for (const name of NAMES) process.off(name, onSignal);
    },
  };
}
