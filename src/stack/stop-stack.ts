import { DomainError } from '../core/errors';
import { requireOwnFolder } from './own-parts';
import { findLockHolder } from './pid-lock';
import type { LockHolder } from './pid-lock';
import { isRunning, sendSignal, waitForExit } from './process-identity';
import { listClients, readStackRecord, stackPlaces } from './stack-record';
import type { StackRecord } from './stack-record';

type Service = StackRecord['children'][number];

export interface StoppedStack {
  /** Of the supervisor; null where none ran. */
  readonly pid: number | null;
  /** What ran beside it, or was left of one that was killed. */
  readonly services: readonly Pick<Service, 'name' | 'pid'>[];
}

/** A little more than a supervisor gives itself. */
const SUPERVISOR_LIMIT_MS = 45_000;
const LEFTOVER_LIMIT_MS = 5000;

/**
 * Ends the supervisor of a data folder and its services, as Ctrl-C does, and waits until they are gone. A number on record
 * that is another process by now is left alone. A stack that commands brought for themselves and still use is refused.
 */
export async function stopStack(
  dataFolder: string,
  { onSignal }: { readonly onSignal?: (pid: number) => void } = {},
): Promise<StoppedStack> {
  requireOwnFolder(dataFolder);
  const holder = holderToEnd(dataFolder);
  const record = readStackRecord(dataFolder);
  if (holder === null) return { pid: null, services: await endLeftovers(record?.children ?? []) };
  const own = record?.pid === holder.pid ? record : null;
  refuseInUse(dataFolder, own);
  const services = (own?.children ?? []).filter(isRunning);
  onSignal?.(holder.pid);
  await endSupervisor(dataFolder, holder);
  await endLeftovers(services);
  return { pid: holder.pid, services };
}

/** Processes of a supervisor that died end by themselves; this waits for them and helps where one does not. */
export async function endLeftovers(services: readonly Service[]): Promise<readonly Service[]> {
  const left = services.filter(isRunning);
  await Promise.all(
    left.map(async (service) => {
      sendSignal(service.pid, 'SIGTERM');
      if (await waitForExit(service, LEFTOVER_LIMIT_MS)) return;
      sendSignal(-service.pid, 'SIGKILL');
      await waitForExit(service, LEFTOVER_LIMIT_MS);
    }),
  );
  return left;
}

/** The next look of such a command would start it again. */
function refuseInUse(dataFolder: string, record: StackRecord | null): void {
  if (record?.kind !== 'until-idle') return;
  const [client] = listClients(dataFolder);
  if (client === undefined) return;
  throw new DomainError(
    'refused',
    `The stack in ${dataFolder} is no \`dev\`: a command has brought it and goes on with it, \`${client.purpose}\` (process ${client.pid}). It ends with that command.`,
  );
}

function holderToEnd(dataFolder: string): LockHolder | null {
  const { lock } = stackPlaces(dataFolder);
  const holder = findLockHolder(lock);
  if (holder === null || holder.isPlaced) return holder;
  throw new DomainError(
    'refused',
    `${lock} names process ${holder.pid}, but not where it was written: a release before this one did that, or somebody who sent the folder. Where it is a stack of yours, kill ${holder.pid} ends it.`,
  );
}

async function endSupervisor(dataFolder: string, holder: LockHolder): Promise<void> {
  sendSignal(holder.pid, 'SIGTERM');
  if (await waitForExit(holder, SUPERVISOR_LIMIT_MS)) return;
  throw new DomainError(
    'temporal-unavailable',
    `Process ${holder.pid}, which holds the stack in ${dataFolder}, was asked to end ${SUPERVISOR_LIMIT_MS / 1000} s ago and has not. Its logs are in ${stackPlaces(dataFolder).logs}; kill -9 ${holder.pid} loses nothing.`,
  );
}
