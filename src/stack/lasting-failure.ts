import { requireSoundDatabase } from './database-damage';
import { readLock } from './pid-lock';
import { isRunning } from './process-identity';
import { databaseLock } from './temporal-server';

/** Why a stack cannot go on, however often its services are started again. */
export class LastingFailure {
  readonly told: Promise<unknown>;
  private found: unknown = null;
  private tell: (error: unknown) => void = () => undefined;

  constructor() {
    this.told = new Promise((resolve) => {
      this.tell = resolve;
    });
  }

  is(error: unknown): boolean {
    return this.found !== null && error === this.found;
  }

  /** Refuses a damaged database with the words of a start. One that a server still writes is left for its own start to look at. */
  async ofDatabase(file: string): Promise<void> {
    if (isInUse(file)) return;
    try {
      await requireSoundDatabase(file);
    } catch (error) {
      this.found = error;
      this.tell(error);
      throw error;
    }
  }
}

function isInUse(databaseFile: string): boolean {
  const holder = readLock(databaseLock(databaseFile));
  if (holder === null) return false;
  const { serverPid, serverStartedAt } = holder.notes;
  const hasServer = typeof serverPid === 'number' && serverStartedAt !== undefined;
  return (
    isRunning(holder) || (hasServer && isRunning({ pid: serverPid, startedAt: String(serverStartedAt) }))
  );
}
