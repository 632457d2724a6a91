import type { SandboxLimits } from '../sandbox';
import type { Fill } from './folder-size';
import { fillAtRest, fillOf } from './folder-size';
import type { HeldFiles } from './held-files';
import { heldFiles } from './held-files';
import type { Mappings } from './mappings';
import { mappingsAtRest } from './mappings';
import { whileStopped } from './stopped-program';

type FileLimit = 'memory' | 'disk';

/** So many looks in a row may be unsure before the program is stopped for one. */
const MOST_UNSURE = 2;
/** Of a stopped program a process may still be in a last system call. */
const MOST_TRIES = 3;
const NOTHING_HELD: HeldFiles = { diskBytes: 0, memoryBytes: 0, isSure: true };

/**
 * Looks at what a program's files take. What cannot be told while it works is counted while it stands still, which takes milliseconds; what cannot be
 * told even then is too much.
 */
export class FilesWatch {
  private unsureLooks = 0;

  constructor(
    private readonly folder: string,
    private readonly limits: SandboxLimits,
  ) {}

  /** The limit that is exceeded. A program that is not known yet has begun nothing. */
  async exceeded(pid: number | null, mappings: readonly Mappings[]): Promise<FileLimit | null> {
    const held = this.heldBy(pid, mappings);
    if (held.memoryBytes > this.limits.memoryBytes) return 'memory';
    const fill = together(held, await fillOf(this.folder, this.limits.diskBytes - held.diskBytes));
    if (fill === 'over') return 'disk';
    this.unsureLooks = fill === 'unsure' ? this.unsureLooks + 1 : 0;
    if (this.unsureLooks < MOST_UNSURE) return null;
    this.unsureLooks = 0;
    return this.isOverAtRest(pid) ? 'disk' : null;
  }

  /** A null is a program that has ended. */
  isOverAtRest(pid: number | null): boolean {
    return whileStopped(pid, () => {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const fill = this.fillAtRest(pid);
        if (fill !== 'unsure') return fill === 'over';
      }
      return true;
    });
  }

  private fillAtRest(pid: number | null): Fill {
    const held = this.heldBy(pid, pid === null ? [] : mappingsAtRest(pid));
    return together(held, fillAtRest(this.folder, this.limits.diskBytes - held.diskBytes));
  }

  private heldBy(pid: number | null, mappings: readonly Mappings[]): HeldFiles {
    return pid === null ? NOTHING_HELD : heldFiles(pid, this.folder, mappings);
  }
}

function together(held: HeldFiles, fill: Fill): Fill {
  return fill === 'within' && !held.isSure ? 'unsure' : fill;
}
