import { hasErrorCode } from '../core/error-code';
import type { StackRecord } from './stack-record';
import { writeStackRecord } from './stack-record';

const RETRY_MS = 1000;

/** Keeps the record of a stack up to date. A full disk takes none; it is written when there is room. */
export class RecordKeeper {
  private later: NodeJS.Timeout | null = null;

  constructor(
    private readonly dataFolder: string,
    private readonly current: () => StackRecord,
  ) {}

  write(): void {
    if (writeRecordIfRoom(this.dataFolder, this.current())) return;
    this.later ??= setTimeout(() => {
      this.later = null;
      this.write();
    }, RETRY_MS);
  }

  stop(): void {
    if (this.later) clearTimeout(this.later);
  }
}

/** False where the disk is full; the record is then what it was before. */
export function writeRecordIfRoom(dataFolder: string, record: StackRecord): boolean {
  try {
    writeStackRecord(dataFolder, record);
    return true;
  } catch (error) {
    if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw error;
    return false;
  }
}
