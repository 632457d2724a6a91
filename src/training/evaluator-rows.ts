import type { EvaluatorConfig } from '../config/evaluation-config';
import { DomainError } from '../core/errors';
import { datasetOf } from '../evaluation/dataset-of';
import type { SequenceSite } from '../evaluation/evaluators/nll-sequence';
import {
  chooseRows,
  isBadRow,
  measuredSequence,
  placeOfConversation,
} from '../evaluation/evaluators/nll-sequence';
import type { ConversationRow } from '../datasets/dataset';
import { leftOutText, placesOfSkipped } from './data-remarks';
import type { ReadDataset } from './dataset-source';
import type { RefusedRow } from './prepare-examples';

export interface EvaluatorRowsSite {
  readonly readDataset: ReadDataset;
  /** What `nll` measures rows with; asked for only where an evaluator does. */
  readonly openSequences: () => Promise<SequenceSite>;
  /** Called now and then, so that long preparations stay alive. */
  readonly onProgress: (what: string) => void;
  readonly signal: AbortSignal;
}

/** Rows; others work in the same process. */
const PAUSE_EVERY = 16;

/**
 * What a person should know of evaluators whose datasets leave bad rows out: their scores are of the others. A row that `nll` cannot
 * measure, because the renderer does not write it or the model cannot read all of it, is refused here, before anything is trained,
 * or left out with `onBadRow: skip`.
 */
export async function evaluatorRowRemarks(
  site: EvaluatorRowsSite,
  evaluators: Readonly<Record<string, EvaluatorConfig>>,
): Promise<string[]> {
  const remarks: string[] = [];
  for (const [name, evaluator] of Object.entries(evaluators)) {
    const leftOut = 'dataset' in evaluator ? await leftOutRows(site, name, evaluator) : [];
    const text = leftOutText(leftOut);
    if (text !== null) remarks.push(`Evaluator "${name}": ${text}`);
  }
  return remarks;
}

async function leftOutRows(
  site: EvaluatorRowsSite,
  name: string,
  evaluator: Extract<EvaluatorConfig, { readonly dataset: unknown }>,
): Promise<readonly RefusedRow[]> {
  const isNll = evaluator.type === 'nll';
  const isSkipping = evaluator.dataset.onBadRow === 'skip';
  if (!isNll && !isSkipping) return [];
  const { rows, skipped } = await site.readDataset(datasetOf(evaluator));
  const unmeasured = isNll ? await unmeasuredRows(site, name, chooseRows(rows, evaluator.maxExamples)) : [];
  if (!isSkipping) refuse(name, unmeasured);
  return [...placesOfSkipped(skipped), ...unmeasured];
}

/** The rows that `nll` cannot measure, with what the renderer or the model says to each. */
export async function unmeasuredRows(
  { openSequences, onProgress, signal }: Omit<EvaluatorRowsSite, 'readDataset'>,
  name: string,
  rows: readonly ConversationRow[],
): Promise<RefusedRow[]> {
  const sequences = await openSequences();
  const refused: RefusedRow[] = [];
  for (const [index, row] of rows.entries()) {
    try {
      await measuredSequence(sequences, row, signal);
    } catch (error) {
      if (!isBadRow(error)) throw error;
      refused.push({ place: placeOfConversation(row), reason: error.message });
    }
    if (index % PAUSE_EVERY === PAUSE_EVERY - 1) {
      onProgress(`${index + 1} of ${rows.length} examples of evaluator "${name}" rendered`);
      signal.throwIfAborted();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return refused;
}

function refuse(name: string, [first, ...others]: readonly RefusedRow[]): void {
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` ${others.length} more of its rows cannot be measured either.`;
  throw new DomainError('bad-dataset', `evaluator "${name}": ${first.place}: ${first.reason}${more}`);
}
