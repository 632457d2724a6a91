import type { Message } from '../../core/conversation';
import type { SampledSequence, SamplingParams } from '../../core/sampling';
import type { Journal } from '../../stores/fenced-journal';
import { digestOf, seedOf } from '../digest';
import type { Example } from '../example';
import type { Grader, Score } from '../graders/grader';
import { Turns } from '../turns';
import { completionText } from './completion-text';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { identityOf } from './evaluation-context';
import type { Outcome, Tries } from './example-failures';
import { tryExample } from './example-failures';
import type { KeyedRow } from './journalled-work';
import { mapUntilFailure, withJournal } from './journalled-work';

export interface GradedWork {
  readonly examples: readonly Example[];
  readonly grader: Grader;
  readonly generation: { readonly maxTokens: number; readonly temperature: number; readonly topP: number };
  readonly systemPrompt: string | undefined;
  readonly concurrency: number;
}

/** What became of one example. */
export interface GradedExample {
  readonly example: Example;
  readonly prompt: readonly number[];
  readonly sample: SampleRow | null;
  readonly score: Score | null;
  /** The completion or the prompt did not fit; counts as wrong. */
  readonly truncation: 'max_tokens_reached' | 'context_overflow' | null;
  readonly error: string | null;
}

interface SampleRow extends KeyedRow {
  readonly example_id: string;
  readonly tokens: readonly number[];
  readonly text: string;
  readonly stop_reason: SampledSequence['stopReason'];
  readonly time_seconds: number;
}

interface GradeRow extends KeyedRow, Score {
  readonly example_id: string;
}

interface Stages {
  readonly dependencies: EvaluationDependencies;
  readonly graded: GradedWork;
  readonly work: CellWork;
  readonly samples: Journal<SampleRow>;
  readonly grades: Journal<GradeRow>;
  readonly turns: Turns;
}

const TIMEOUT_MS = 300_000;

/**
 * Samples and grades every example, journalling both stages of each.
 *
 * Repeating it after a crash or a failed grader asks only for what is missing. Answers are found again by the weights,
 * the prompt and the sampling parameters, so those of another model are never used.
 */
export async function gradeExamples(
  dependencies: EvaluationDependencies,
  graded: GradedWork,
  work: CellWork,
): Promise<GradedExample[]> {
  return withJournal<SampleRow, GradedExample[]>(work, 'samples', (samples) =>
    withJournal<GradeRow, GradedExample[]>(work, 'grades', (grades) => {
      const total = graded.examples.length;
      let done = 0;
      let reward = 0;
      const limited = { limit: graded.concurrency, signal: work.signal };
      const stages = { dependencies, graded, work, samples, grades, turns: new Turns() };
      return mapUntilFailure(graded.examples, limited, async (example, signal) => {
        const result = await gradeExample(stages, example, signal);
        done += 1;
        reward += result.score?.value ?? 0;
        work.onProgress({ done, total, score: reward / done });
        return result;
      });
    }),
  );
}

async function gradeExample(stages: Stages, example: Example, signal: AbortSignal): Promise<GradedExample> {
  const prompt = promptOf(stages, example);
  const base = { example, prompt, sample: null, score: null, truncation: null, error: null };
  const params = paramsOf(stages, example, prompt);
  if (params === null) return { ...base, truncation: 'context_overflow' };

  const tries = { signal, timeoutMs: stages.dependencies.timeoutMs ?? TIMEOUT_MS };
  const sampled = await sampleStage(stages, { example, prompt, params }, tries);
  if ('error' in sampled) return { ...base, error: sampled.error };
  const sample = sampled.value;
  if (sample.stop_reason === 'length') return { ...base, sample, truncation: 'max_tokens_reached' };

  await stages.turns.next();
  const grade = await gradeStage(stages, { example, sample }, tries);
  return 'error' in grade
    ? { ...base, sample, error: `grader: ${grade.error}` }
    : { ...base, sample, score: grade.value };
}

function promptOf({ dependencies, graded }: Stages, { messages }: Example): number[] {
  const system: Message[] =
    graded.systemPrompt === undefined ? [] : [{ role: 'system', content: graded.systemPrompt }];
  return dependencies.renderer.buildGenerationPrompt([...system, ...messages]);
}

/** null when the prompt leaves no room for a completion. */
function paramsOf(
  { dependencies, graded }: Stages,
  { id }: Example,
  prompt: readonly number[],
): SamplingParams | null {
  const { maxTokens, temperature, topP } = graded.generation;
  const room = (dependencies.contextLength ?? Infinity) - prompt.length;
  if (room <= 0) return null;
  return {
    maxTokens: Math.min(maxTokens, room),
    temperature,
    topP,
    topK: -1,
    seed: seedOf(id),
    stop: dependencies.renderer.stopSequences(),
  };
}

async function sampleStage(
  { dependencies, work, samples }: Stages,
  asked: { readonly example: Example; readonly prompt: readonly number[]; readonly params: SamplingParams },
  tries: Tries,
): Promise<Outcome<SampleRow>> {
  const { example, prompt, params } = asked;
  const key = digestOf([identityOf(work.model), example.id, prompt, params]);
  const known = samples.get(key);
  if (known) return { value: known };

  // A superseded attempt must not pay for samples nobody will read.
  samples.verify();
  const startedAt = performance.now();
  const outcome = await tryExample(tries, async (signal) => {
    const { sequences } = await dependencies.sampler.sample({ prompt, numSamples: 1, params }, { signal });
    const [sequence] = sequences;
    if (!sequence) throw new Error('the engine returned no completion');
    return sequence;
  });
  if ('error' in outcome) return outcome;
  const { tokens, stopReason } = outcome.value;
  const row = {
    key,
    example_id: example.id,
    tokens,
    text: completionText(dependencies.renderer, tokens),
    stop_reason: stopReason,
    time_seconds: (performance.now() - startedAt) / 1000,
  };
  await samples.appendWhenRoom(row, { signal: tries.signal });
  return { value: row };
}

async function gradeStage(
  { graded, grades }: Stages,
  { example, sample }: { readonly example: Example; readonly sample: SampleRow },
  tries: Tries,
): Promise<Outcome<Score>> {
  const key = digestOf([sample.key, sample.text, graded.grader.version, example.target]);
  const known = grades.get(key);
  if (known) return { value: known };

  const outcome = await tryExample(tries, async () =>
    checkScore(await graded.grader.grade(sample.text, example)),
  );
  if ('error' in outcome) return outcome;
  const { value, answer, explanation } = outcome.value;
  const row = {
    key,
    example_id: example.id,
    value,
    answer,
    ...(explanation !== undefined && { explanation }),
  };
  await grades.appendWhenRoom(row, { signal: tries.signal });
  return { value: row };
}

function checkScore(score: Score): Score {
  if (Number.isFinite(score.value) && score.value >= 0 && score.value <= 1) return score;
  throw new Error(`a score must be a number from 0 to 1, not ${String(score.value)}`);
}
