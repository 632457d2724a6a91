import { readFileSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { liesBeneath } from './checkpoint-files';

/** Time since the machine was started, which nobody sets, and a name for that start. */
export interface BootClock {
  readonly id: string;
  /** Milliseconds; other processes of the machine count the same. */
  readonly elapsed: () => number;
}

/** What an engine that ended knew of checkpoints whose time was over. */
const KeptLooks = z.object({
  boot: z.string(),
  /** When it was written: milliseconds since 1970, and since the machine was started. */
  now: z.number(),
  elapsed: z.number(),
  /** By address: its end, and since when, of the machine's elapsed time, it was seen to be over. */
  looks: z.record(z.string(), z.object({ expiresAt: z.string(), over: z.number() })),
});
export type KeptLooks = z.infer<typeof KeptLooks>;

const FILE = 'looks.json';

/** null where the system does not say which start it is. */
export function machineBootClock(): BootClock | null {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return id === '' ? null : { id, elapsed: () => os.uptime() * 1000 };
  } catch {
    return null;
  }
}

/** null where there are none, or none that can be read. */
export async function readKeptLooks(folder: string): Promise<KeptLooks | null> {
  try {
    return KeptLooks.parse(JSON.parse(await readFile(path.join(folder, FILE), 'utf8')));
  } catch {
    return null;
  }
}

export async function writeKeptLooks(folder: string, looks: KeptLooks): Promise<void> {
  const file = path.join(folder, FILE);
  if (!(await liesBeneath(folder, file))) return;
  if (Object.keys(looks.looks).length === 0) return rm(file, { force: true });
  const temporary = path.join(folder, `.${FILE}`);
  await rm(temporary, { force: true });
  await writeFile(temporary, `${JSON.stringify(looks, null, 2)}\n`, { flag: 'wx' });
  await rename(temporary, file);
}
