import { inPhase, pollUntil } from './phase';
import { readLock, takePidLock } from './pid-lock';
import type { LockNotes, PidLock } from './pid-lock';
import type { Progress } from './progress';

interface WaitOptions {
  readonly progress: Progress;
  readonly signal?: AbortSignal | undefined;
}

const POLL_MS = 200;

/** Takes the lock, however long others hold it: as long as they live they work, and what they say of it is shown. */
export async function waitForLock(file: string, options: WaitOptions): Promise<PidLock> {
  options.signal?.throwIfAborted();
  const first = await takePidLock(file);
  if ('lock' in first) return first.lock;
  const name = `Waiting for process ${first.holder.pid}`;
  return inPhase({ ...options, name, describe: () => shownByHolder(file) }, (signal) =>
    pollUntil(
      async () => {
        const attempt = await takePidLock(file);
        return 'lock' in attempt ? attempt.lock : null;
      },
      { everyMs: POLL_MS, signal },
    ),
  );
}

/** What the holder of a lock shows the person in front of it. */
export function shownByHolder(file: string): string {
  return String(readLock(file)?.notes['shown'] ?? '');
}

/** Progress that those who wait for the lock see too. */
export function progressInLock(lock: PidLock, progress: Progress, notes: LockNotes = {}): Progress {
  return {
    note: progress.note,
    status: (text) => {
      try {
        lock.note({ ...notes, shown: text ?? '' });
      } catch {
        // Where the disk is full, those who wait see less.
      }
      progress.status(text);
    },
  };
}
