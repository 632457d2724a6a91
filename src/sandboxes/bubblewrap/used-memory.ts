import { familyOf, readText } from './process-family';

const PAGE_BYTES = 4096;
const KIBIBYTE = 1024;

/**
 * What a process and all below it have in memory. What several share counts once where that decides: adding it up costs little,
 * telling it apart costs more.
 */
export function memoryOf(pid: number, limitBytes: number): number {
  const family = familyOf(pid);
  const own = family.reduce((sum, each) => sum + privateBytes(each), 0);
  const atMost = own + family.reduce((sum, each) => sum + sharedBytes(each), 0);
  if (own > limitBytes || atMost <= limitBytes) return atMost;
  return own + family.reduce((sum, each) => sum + (shareOf(each) ?? sharedBytes(each)), 0);
}

function privateBytes(pid: number): number {
  const [, resident = 0, shared = 0] = readText(`/proc/${pid}/statm`).split(' ').map(Number);
  return (resident - shared) * PAGE_BYTES;
}

/** Memory that others may map too; files on a disk are not of it. */
function sharedBytes(pid: number): number {
  return kibibytes(/^RssShmem:\s*(\d+)/m.exec(readText(`/proc/${pid}/status`))) ?? 0;
}

/** Of the same, divided by how many map it; null where the system does not tell. */
function shareOf(pid: number): number | null {
  return kibibytes(/^Pss_Shmem:\s*(\d+)/m.exec(readText(`/proc/${pid}/smaps_rollup`)));
}

function kibibytes(found: RegExpExecArray | null): number | null {
  return found ? Number(found[1]) * KIBIBYTE : null;
}
