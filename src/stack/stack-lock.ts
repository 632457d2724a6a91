import { DomainError } from '../core/errors';
import { inPhase, pollUntil } from './phase';
import { takePidLock } from './pid-lock';
import type { LockHolder, PidLock } from './pid-lock';
import type { Progress } from './progress';
import { listClients, readStackRecord, stackPlaces } from './stack-record';
import { PREPARING } from './starting-stack';

interface StackLockOptions {
  readonly dataFolder: string;
  /** Asked for by a command that has use for whatever stack there is. */
  readonly untilIdle: boolean;
  readonly progress: Progress;
  readonly signal?: AbortSignal | undefined;
}

const POLL_MS = 200;

/**
 * The right to run the stack of a data folder. A stack that commands have brought goes when the last of them ends: one that is to
 * stay waits for that and takes its place, so that what else goes on there is not left. Beside one that stays it is refused.
 */
export async function takeStackLock(options: StackLockOptions): Promise<PidLock> {
  const { dataFolder, untilIdle, progress, signal } = options;
  const first = await attempt(dataFolder);
  if ('lock' in first) return first.lock;
  if (untilIdle || kindOf(dataFolder, first.holder) !== 'until-idle')
    throw alreadyRunning(dataFolder, first.holder);
  progress.note(
    `${asBrought(dataFolder, first.holder)} The runs of ${dataFolder} go on with it; this one takes its place when it ends.`,
  );
  const name = `Waiting for process ${first.holder.pid}`;
  return inPhase({ name, progress, signal }, (end) =>
    pollUntil(
      async () => {
        const next = await attempt(dataFolder);
        if ('lock' in next) return next.lock;
        if (kindOf(dataFolder, next.holder) === 'dev') throw alreadyRunning(dataFolder, next.holder);
        return null;
      },
      { everyMs: POLL_MS, signal: end },
    ),
  );
}

const attempt = (dataFolder: string) => takePidLock(stackPlaces(dataFolder).lock, { notes: PREPARING });

/** Null while the holder has written nothing yet. */
function kindOf(dataFolder: string, holder: LockHolder): 'dev' | 'until-idle' | null {
  const record = readStackRecord(dataFolder);
  return record?.pid === holder.pid ? record.kind : null;
}

function asBrought(dataFolder: string, { pid }: LockHolder): string {
  const [client] = listClients(dataFolder);
  const by = client === undefined ? 'A command' : `\`${client.purpose}\` (process ${client.pid})`;
  return `${by} has a stack of its own there, process ${pid}.`;
}

function alreadyRunning(dataFolder: string, { pid }: LockHolder): DomainError {
  const record = readStackRecord(dataFolder);
  const where = record?.ready ? ` (Temporal ${record.temporalAddress}, engine ${record.engineUrl})` : '';
  return new DomainError(
    'temporal-unavailable',
    `A stack is already running on ${dataFolder}: process ${pid}${where}. Use it, stop it with \`npx everstep dev stop\`, or choose another --data-dir.`,
  );
}
