import { familyOf, placeOf, readText } from './process-family';

const PAGE_BYTES = 4096;
const KIBIBYTE = 1024;

/**
 * What a process and all below it have in memory, the tables of its addresses included. What several share counts once where that decides:
 * adding it up costs little, telling it apart costs more. At least `leastShared` bytes are shared.
 */
export function memoryOf(pid: number, limitBytes: number, leastShared: number): number {
  const family = familyOf(pid).map((each) => usedMemory(placeOf(each)));
  const own = family.reduce((sum, each) => sum + each.ownBytes, 0);
  const mapped = family.reduce((sum, each) => sum + each.sharedBytes, 0);
  const atMost = own + Math.max(mapped, leastShared);
  if (own > limitBytes || atMost <= limitBytes) return atMost;
  const shared = family.reduce((sum, each) => sum + (shareOf(each.place) ?? each.sharedBytes), 0);
  return own + Math.max(shared, leastShared);
}

interface UsedMemory {
  readonly place: string;
  readonly ownBytes: number;
  /** Memory that others may map too; files on a disk are not of it. */
  readonly sharedBytes: number;
}

function usedMemory(place: string): UsedMemory {
  const [, resident = 0, shared = 0] = readText(`${place}/statm`).split(' ').map(Number);
  const status = readText(`${place}/status`);
  const field = (name: string) => kibibytes(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)) ?? 0;
  return {
    place,
    ownBytes: (resident - shared) * PAGE_BYTES + field('VmPTE') + field('VmSwap'),
    sharedBytes: field('RssShmem'),
  };
}

/** Of the same, divided by how many map it; null where the system does not tell. */
function shareOf(place: string): number | null {
  return kibibytes(/^Pss_Shmem:\s*(\d+)/m.exec(readText(`${place}/smaps_rollup`)));
}

function kibibytes(found: RegExpExecArray | null): number | null {
  return found ? Number(found[1]) * KIBIBYTE : null;
}
