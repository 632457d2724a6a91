import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A run of the harness leaves a few megabytes in the store. */
const SIZE = '48m';
const FILLER = 'filler';

/** A small disk of its own, mounted as the store, so that it can be filled without anybody else noticing. */
export class SmallDisk {
  private constructor(readonly folder: string) {}

  static mount(folder: string): SmallDisk {
    mkdirSync(folder, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'everstep-chaos', folder], { stdio: 'pipe' });
    return new SmallDisk(folder);
  }

  fill(): void {
    const block = Buffer.alloc(64 * 1024);
    const file = openSync(path.join(this.folder, FILLER), 'a');
    try {
      // The last page too: a write of a single byte fails only when none is left.
      for (let size = block.length; size >= 1; size = size > 1 ? size >> 1 : 0)
        writeUntilFull(file, block, size);
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(path.join(this.folder, FILLER), { force: true });
  }

  unmount(): void {
    execFileSync('umount', ['--lazy', this.folder], { stdio: 'pipe' });
  }
}

function writeUntilFull(file: number, block: Buffer, size: number): void {
  try {
    for (;;) writeSync(file, block, 0, size);
  } catch (error) {
    if (!(error instanceof Object) || !('code' in error) || error.code !== 'ENOSPC') throw error;
  }
}

/** Null where a small disk can be mounted, else why not. */
export function whyNoSmallDisk(): string | null {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-chaos-mount-'));
  try {
    SmallDisk.mount(folder).unmount();
    return null;
  } catch {
    return 'no right to mount a small disk here';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Disks of harnesses that were killed. */
export function unmountLeftovers(isLeft: (folder: string) => boolean): void {
  if (process.platform !== 'linux') return;
  for (const line of readFileSync('/proc/mounts', 'utf8').split('\n')) {
    const [device, folder = ''] = line.split(' ');
    if (device === 'everstep-chaos' && isLeft(folder))
      execFileSync('umount', ['--lazy', folder], { stdio: 'pipe' });
  }
}
