import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { hasErrorCode } from '../../../../core/error-code';
import { liesBeneath } from './checkpoint-files';
import { readPlainFile } from './plain-file';

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
/** Some hundred thousand looks. */
const LARGEST_BYTES = 2 ** 26;
/** How removing or replacing a folder as a file fails. */
const IN_THE_WAY = ['EISDIR', 'ERR_FS_EISDIR', 'ENOTEMPTY', 'EEXIST'];

/** null where the system does not say which start it is. */
export function machineBootClock(): BootClock | null {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return id === '' ? null : { id, elapsed: () => os.uptime() * 1000 };
  } catch {
    return null;
  }
}

/** null where there are none, or none that can be read: a link, a pipe or a folder in their place among them. */
export async function readKeptLooks(folder: string): Promise<KeptLooks | null> {
  try {
    const bytes = await readPlainFile(path.join(folder, FILE), LARGEST_BYTES);
    return KeptLooks.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}

/** Nothing is written where a folder is in the way: then the next engine begins anew. */
export async function writeKeptLooks(folder: string, looks: KeptLooks): Promise<void> {
  const file = path.join(folder, FILE);
  if (!(await liesBeneath(folder, file))) return;
  try {
    await replaceLooks(file, looks);
  } catch (error) {
    if (!hasErrorCode(error, ...IN_THE_WAY)) throw error;
  }
}

async function replaceLooks(file: string, looks: KeptLooks): Promise<void> {
  if (Object.keys(looks.looks).length === 0) return rm(file, { force: true });
  const temporary = path.join(path.dirname(file), `.${FILE}`);
  await rm(temporary, { force: true });
  await writeFile(temporary, `${JSON.stringify(looks, null, 2)}\n`, { flag: 'wx' });
  await rename(temporary, file);
}
