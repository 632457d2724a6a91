import { isStartedByNpx } from '../config/how-called';

const LOOK_MS = 200;

/**
 * Calls back once when the shell is gone through which npx started this program. npx passes SIGTERM and SIGINT on to that
 * shell alone, which ends by them and leaves what it runs to itself. Gives back what ends the watch.
 */
export function whenShellOfNpxIsGone(callback: () => void): () => void {
  if (!isStartedByNpx()) return () => undefined;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    callback();
  }, LOOK_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
  };
}
