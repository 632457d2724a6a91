import type { Stats } from 'node:fs';
import { readdirSync, statSync } from 'node:fs';
import { errorCodeOf } from '../../core/error-code';
import type { Mappings } from './mappings';
import { familyOf, placeOf } from './process-family';

export interface HeldFiles {
  /** On the disk of the working folder. */
  readonly diskBytes: number;
  /** Elsewhere: files that are memory. */
  readonly memoryBytes: number;
  /** Whether all could be counted: the system does not tell everybody everything. */
  readonly isSure: boolean;
}

/** So many are looked at, which are those of all processes that a program may have; looking takes this process's time. */
const MOST_FILES = 10_000;
const BLOCK_BYTES = 512;
/** What the system may keep for who has begun to read of a process: a path of which each character is written as four. */
const PROCESS_FILE_BYTES = 8 * 1024 * 1024;
/** A file of the working folder that has lost its name, by its addresses, device and inode. */
const NAMELESS = /^(\S+) \S+ \S+ (\S+ (\d+)) +\/work\/.* \(deleted\)$/gm;
/** What is told of a process that has ended meanwhile. */
const GONE = ['ENOENT', 'ESRCH'];

/** What the processes of a program hold of files without a name, which no folder shows: open, or mapped as a running program is. */
export function heldFiles(pid: number, folder: string, mappings: readonly Mappings[]): HeldFiles {
  const processes = statOf(`/proc/${pid}/root/proc`)?.dev;
  const held = new Held(statSync(folder, { throwIfNoEntry: false })?.dev, processes);
  // The first process is bwrap's own, which may not let itself be looked at.
  for (const each of familyOf(pid)) held.addOpen(placeOf(each), each === pid);
  for (const each of mappings) held.addMapped(each);
  return held;
}

class Held implements HeldFiles {
  diskBytes = 0;
  memoryBytes = 0;
  isSure = true;
  private count = 0;
  private readonly seen = new Set<string>();
  private readonly inodes = new Set<string>();
  private readonly mapped = new Set<string>();

  constructor(
    private readonly device: number | undefined,
    private readonly processes: number | undefined,
  ) {}

  addOpen(place: string, isTrusted: boolean): void {
    try {
      for (const name of readdirSync(`${place}/fd`)) this.look(`${place}/fd/${name}`);
    } catch (error) {
      if (!isTrusted && !GONE.includes(errorCodeOf(error))) this.isSure = false;
    }
  }

  /** Only root is told how large a mapped file is. Others know it of one that is open too, or that the process runs. */
  addMapped({ place, text }: Mappings): void {
    for (const [, addresses = '', file = '', inode = ''] of text.matchAll(NAMELESS)) {
      if (this.mapped.has(file)) continue;
      this.mapped.add(file);
      if (this.look(`${place}/map_files/${addresses}`)) continue;
      const program = statOf(`${place}/exe`);
      if (program && String(program.ino) === inode) this.add(program);
      else if (!this.inodes.has(inode)) this.isSure = false;
    }
  }

  /** Whether something could be seen there. */
  private look(place: string): boolean {
    if (++this.count > MOST_FILES) {
      this.isSure = false;
      return false;
    }
    const file = statOf(place);
    if (file) this.add(file);
    return file !== null;
  }

  private add(file: Stats): void {
    // Each time that it is open, and its name stays.
    if (file.isFile() && file.dev === this.processes) this.memoryBytes += PROCESS_FILE_BYTES;
    const name = `${file.dev} ${file.ino}`;
    if (!file.isFile() || file.nlink > 0 || this.seen.has(name)) return;
    this.seen.add(name);
    if (file.dev === this.device) {
      this.inodes.add(String(file.ino));
      this.diskBytes += file.blocks * BLOCK_BYTES;
    } else this.memoryBytes += file.blocks * BLOCK_BYTES;
  }
}

function statOf(place: string): Stats | null {
  try {
    return statSync(place);
  } catch {
    return null;
  }
}
