import { join } from 'node:path';
import type { SentRow } from '../core/training-plan';
import { readJsonLines } from './json-lines';
import { isSentRow } from './run-rows';

/** Whether a run of which nothing lies at a step has an evaluation due there, as what it sent says; of steps that are not sent yet, none. */
export async function isDueAt(runFolder: string, step: number): Promise<boolean> {
  const rows = await readJsonLines<SentRow>(join(runFolder, 'sent.jsonl'));
  return rows.filter(isSentRow).some((row) => row.step === step && (row.schedules ?? []).length > 0);
}
