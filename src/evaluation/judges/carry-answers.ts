import { join } from 'node:path';
import type { Sampler } from '../../core/sampling';
import { DomainError } from '../../core/errors';
import { readJsonLines } from '../../stores/json-lines';
import { readWholeFile } from '../../stores/reading';
import { createWholeFile } from '../../stores/whole-file';
import type { Example } from '../example';
import type { GradeRow } from '../runner/shard-rows';
import type { ExampleSubject } from '../runner/shard-task';
import { unitsOf } from '../runner/shard-task';
import { BASELINE_STAGE } from './baseline-stage';
import type { Judgement } from './judgements';

/** Journals of one shard: where answers are, and where they are judged again. */
export interface CarriedShard {
  readonly from: string;
  readonly to: string;
  /** As the new judges grade it. */
  readonly subject: Pick<ExampleSubject, 'base' | 'grader' | 'numSamples'>;
  readonly examples: Iterable<Example>;
}

export function answerMissing(): DomainError {
  return new DomainError(
    'request-failed',
    'no answer to this example is stored, and judging again asks for none. Finish the evaluation first.',
    { category: 'user' },
  );
}

/** In place of the weights where a cell's answers are judged again. */
export const NO_SAMPLER: Sampler = { sample: () => Promise.reject(answerMissing()) };

/**
 * What a cell's model and the baseline it is compared with answered, for judges who are to judge it again. Repeated, it leaves
 * what is there.
 */
export async function carryAnswers(shard: CarriedShard): Promise<void> {
  const { from, to } = shard;
  const judgements = await readJsonLines<Judgement>(join(from, 'judgements.jsonl'));
  const baseline = judgements.filter(({ stage }) => stage === BASELINE_STAGE);
  if (baseline.length > 0) await createWholeFile(join(to, 'judgements.jsonl'), linesOf(baseline));
  await carryUnanswered(shard);
  const samples = await readWholeFile(join(from, 'samples.jsonl'));
  if (samples !== null) await createWholeFile(join(to, 'samples.jsonl'), samples);
}

/** Of prompts that were too long there is no answer, and nothing for a judge to say: they stay what they were. */
export async function carryUnanswered({ from, to, subject, examples }: CarriedShard): Promise<void> {
  const rows = await readJsonLines<GradeRow>(join(from, 'grades.jsonl'));
  const unanswered = rows.filter(
    ({ truncation, samples }) => truncation === 'context_overflow' && samples.length === 0,
  );
  if (unanswered.length === 0) return;
  const keys = new Map<string, string>();
  for (const { example, sampleIndex, keys: unitKeys } of unitsOf(subject, examples))
    keys.set(unitName(example.id, sampleIndex), unitKeys.grade);
  const carried = unanswered.flatMap((row) => {
    const key = keys.get(unitName(row.example_id, row.sample_index));
    return key === undefined ? [] : [{ ...row, key }];
  });
  await createWholeFile(join(to, 'grades.jsonl'), linesOf(carried));
}

function unitName(exampleId: string, sampleIndex: number): string {
  return `${sampleIndex} ${exampleId}`;
}

function linesOf(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}
