import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Promotion } from '../core/controls/promotion';
import { DomainError } from '../core/errors';
import type { RunStore } from './run-store';
import { readJson } from './whole-file';

/** A checkpoint as people call it: `RUN@STEP`, `RUN@best`, or `RUN` for the newest. */
export interface NamedCheckpoint {
  readonly run: string;
  /** null for the newest. */
  readonly step: number | null;
}

/** Reads such a name; the best is the one promoted last, as it is now. */
export async function readCheckpointName(
  text: string,
  runs: Pick<RunStore, 'runFolder'>,
): Promise<NamedCheckpoint> {
  const at = text.lastIndexOf('@');
  if (at < 0) return { run: text, step: null };
  const [run, step] = [text.slice(0, at), text.slice(at + 1)];
  if (/^\d{1,12}$/.test(step)) return { run, step: Number(step) };
  if (step === 'best') return { run, step: (await requirePromotion(run, runs.runFolder(run))).step };
  throw new DomainError('bad-config', `${text}: write RUN, RUN@STEP or RUN@best, e.g. ${run}@100.`);
}

/** `best.json`; null where nobody promoted a checkpoint, and where it does not say which: files can be copied, edited and damaged. */
export async function readPromotion(runFolder: string): Promise<Promotion | null> {
  const promotion = await readJson<Promotion>(promotionPath(runFolder));
  return promotion !== null && isPromotion(promotion) ? promotion : null;
}

const promotionPath = (runFolder: string) => join(runFolder, 'best.json');

function isPromotion({ step, ...texts }: Partial<Promotion>): boolean {
  const { name, state_path, sampler_path, at, by, reason } = texts;
  const said = [name, state_path, sampler_path, at, by, reason];
  return isStep(step) && said.every((text) => typeof (text ?? '') === 'string');
}

/** One that `RUN@STEP` can name. */
function isStep(step: unknown): boolean {
  return typeof step === 'number' && Number.isSafeInteger(step) && step >= 0 && step < 1e12;
}

export async function requirePromotion(run: string, runFolder: string): Promise<Promotion> {
  const promotion = await readPromotion(runFolder);
  if (promotion) return promotion;
  if (!existsSync(runFolder)) {
    throw new DomainError(
      'unknown-run',
      `${run}@best: there is no run "${run}" in the store. List those there are with: npx everstep runs list`,
    );
  }
  if (existsSync(promotionPath(runFolder))) {
    throw new DomainError(
      'store-conflict',
      `${JSON.stringify(promotionPath(runFolder))} is damaged: it does not say which checkpoint was promoted. Move it away, and promote one anew with: npx everstep runs promote RUN@STEP`,
    );
  }
  throw new DomainError(
    'unknown-checkpoint',
    `${run}@best: nobody promoted a checkpoint of run "${run}". Promote one with: npx everstep runs promote ${run}@STEP`,
  );
}
