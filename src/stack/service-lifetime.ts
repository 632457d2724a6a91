import { whenShellOfNpxIsGone } from './shell-of-npx';

/** Why a foreground service ends, and the exit code that says so. */
export interface StopReason {
  readonly reason: 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'parent gone' | 'npx gone';
  readonly exitCode: number;
}

/**
 * Waits for SIGTERM (exit 0), SIGINT (exit 130) or, for a service that everstep started, for the end of its
 * stdin pipe, which the system closes when the parent dies in any way. One that npx started ends with it (exit 0),
 * unless it `outlives` the command it was started by.
 */
export function waitForStop(options: {
  readonly exitWithParent: boolean;
  readonly outlives?: boolean;
}): Promise<StopReason> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => {
      resolve({ reason: 'SIGTERM', exitCode: 0 });
    });
    process.once('SIGINT', () => {
      resolve({ reason: 'SIGINT', exitCode: 130 });
    });
    process.once('SIGHUP', () => {
      resolve({ reason: 'SIGHUP', exitCode: 129 });
    });
    if (!options.exitWithParent) {
      if (options.outlives === true) return;
      whenShellOfNpxIsGone(() => {
        resolve({ reason: 'npx gone', exitCode: 0 });
      });
      return;
    }
    const gone = (): void => {
      resolve({ reason: 'parent gone', exitCode: 1 });
    };
    process.stdin.once('end', gone).once('close', gone).once('error', gone).resume();
  });
}

/** npx passes on the Ctrl-C that the terminal has sent here too: what comes this soon after is the same one. */
const ECHO_MS = 400;

/** For a service that a person stopped: asked once more, its process ends on the spot. */
export function leaveWhenAskedAgain(exitCode: number): void {
  const since = performance.now();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (performance.now() - since >= ECHO_MS) process.exit(exitCode);
    });
  }
}

/**
 * Ends a service's process when its work is over. Native libraries keep the event loop alive, so waiting for it to
 * run dry is no way out; the log is written synchronously, so nothing is lost.
 */
export function endService(exitCode: number): never {
  process.exit(exitCode);
}

/** Ends the process although something in it does not stop; the timer itself keeps nothing alive. */
export function exitWithin(timeoutMs: number, exitCode: number): void {
  setTimeout(() => process.exit(exitCode), timeoutMs).unref();
}
