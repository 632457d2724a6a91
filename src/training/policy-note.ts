import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asStoreError } from '../stores/system-errors';
import { readJson, temporaryName } from '../stores/whole-file';
import type { StoreNews } from './store-news';

/**
 * The newest weights that a segment passed on to the samplers of the next step, which wait for them:
 *
 *     policy.json     {"step", "samplerPath", "isCheckpoint", "generation"}
 *
 * Nothing depends on it: where it is missing or late, the workflow names the weights itself. So it is not synced to the disk.
 */
export interface PolicyNote {
  readonly step: number;
  readonly samplerPath: string;
  readonly isCheckpoint: boolean;
  /** Whom it is for: samplers that were called off wait for an earlier one. */
  readonly generation: number;
}

export type AwaitedPolicy = Pick<PolicyNote, 'step' | 'generation'>;

const NAME = 'policy.json';
const LOOK_EVERY_MS = 5;

export async function writePolicyNote(runFolder: string, note: PolicyNote): Promise<void> {
  const path = pathOf(runFolder);
  const temporary = temporaryName(path);
  try {
    await writeFile(temporary, `${JSON.stringify(note)}\n`);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw asStoreError(error, path);
  }
}

/** Once nothing is sampled any more; what a worker that was killed had begun to write goes with it. */
export async function removePolicyNote(runFolder: string): Promise<void> {
  const names = await readdir(runFolder);
  const left = names.filter((name) => name === NAME || name.startsWith(`.${NAME}.`));
  for (const name of left) await rm(join(runFolder, name), { force: true });
}

interface Patience {
  /** Of this process, told of once a note is written. */
  readonly news: StoreNews;
  readonly signal: AbortSignal;
  readonly patienceMs: number;
}

/** Looks at least once. Resolves with the weights once they are there, with null when that takes too long; throws when the signal fires. */
export async function awaitPolicyNote(
  runFolder: string,
  { step, generation }: AwaitedPolicy,
  { news, signal, patienceMs }: Patience,
): Promise<PolicyNote | null> {
  const path = pathOf(runFolder);
  const givesUpAt = performance.now() + patienceMs;
  for (;;) {
    const { toldCount } = news;
    const note = await readJson<PolicyNote>(path);
    if (note?.step === step && note.generation === generation) return note;
    if (performance.now() >= givesUpAt) return null;
    await news.wait(toldCount, LOOK_EVERY_MS, signal);
  }
}

function pathOf(runFolder: string): string {
  return join(runFolder, NAME);
}
