import type { StoredTrajectory, StoredTurn } from '../../../stores/eval-store';
import type { LoggedMessage, LoggedSample, SampleScore } from './log-schema';
import { numberOfValue } from './sample-value';

export interface LoggedTrajectoryContext {
  readonly benchmark: string;
  readonly index: number;
  /** Each sample was drawn several times. */
  readonly hasEpochs: boolean;
  /** Whose score is the reward; null where none is. */
  readonly main: MainScorer | null;
}

interface MainScorer {
  readonly scorer: string;
  /** Of a score that has several, by name. */
  readonly part: string;
}

/** A sample of a log as a line of `trajectories.jsonl`. */
export function trajectoryOfSample(sample: LoggedSample, context: LoggedTrajectoryContext): StoredTrajectory {
  const { benchmark, index, hasEpochs, main } = context;
  const score = main === null ? undefined : sample.scores?.[main.scorer];
  const reward = score === undefined || main === null ? null : partOf(score.value, main.part);
  return {
    idx: index,
    benchmark,
    example_id: String(sample.id),
    ...(hasEpochs && { sample_index: sample.epoch - 1 }),
    turns: turnsOf(sample),
    reward: reward ?? 0,
    metrics: metricsOf(sample, main, reward),
    logs: logsOf(sample, score, reward),
    error: sample.error?.message ?? null,
    time_seconds: sample.total_time ?? 0,
  };
}

function metricsOf(
  sample: LoggedSample,
  main: MainScorer | null,
  reward: number | null,
): Record<string, number> {
  const truncation = truncationOf(sample);
  return {
    ...(reward !== null && { correct: Number(reward > 0) }),
    ...otherScores(sample, main),
    ...(truncation !== null && { [truncation]: 1 }),
  };
}

function logsOf(
  { id, target, choices, error, limit }: LoggedSample,
  main: SampleScore | undefined,
  reward: number | null,
): StoredTrajectory['logs'] {
  const logs = {
    example_id: String(id),
    target: typeof target === 'string' ? target : target.join('\n'),
    choices,
    answer: main?.answer ?? null,
    explanation: main?.explanation,
    unscored: reward === null && !error ? true : null,
    limit: limit?.type,
  };
  return Object.fromEntries(
    Object.entries(logs).filter(([name, value]) => name === 'answer' || value != null),
  );
}

/** Which limit a sample ran into, by the names of our own results; null for none. */
export function truncationOf({ output, limit }: LoggedSample): string | null {
  const reasons = output?.choices.map(({ stop_reason: reason }) => reason) ?? [];
  if (reasons.includes('model_length') || limit?.type === 'context') return 'context_overflow';
  return reasons.includes('max_tokens') || limit ? 'max_tokens_reached' : null;
}

/** By the scorer, of one with several parts by `scorer/part`; what is the reward is left out. */
function otherScores({ scores }: LoggedSample, main: MainScorer | null): Record<string, number> {
  const named = Object.entries(scores ?? {}).flatMap(([scorer, { value }]) => {
    const parts = partsOf(value);
    if (parts === null) return scorer === main?.scorer ? [] : [[scorer, value] as const];
    return Object.entries(parts)
      .filter(([part]) => scorer !== main?.scorer || part !== main.part)
      .map(([part, each]) => [`${scorer}/${part}`, each] as const);
  });
  return Object.fromEntries(
    named.flatMap(([name, value]) => {
      const number = numberOfValue(value);
      return number === null ? [] : [[name, number] as const];
    }),
  );
}

function partOf(value: unknown, part: string): number | null {
  const parts = partsOf(value);
  return numberOfValue(parts === null ? value : parts[part]);
}

function partsOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : null;
}

function turnsOf(sample: LoggedSample): StoredTurn[] {
  const { messages, input } = sample;
  const spoken = messages.length > 0 ? messages : inputMessages(input);
  const usage = Object.values(sample.model_usage ?? {});
  const counts = {
    prompt: usage.reduce((sum, each) => sum + (each.input_tokens ?? 0), 0),
    completion: usage.reduce((sum, each) => sum + (each.output_tokens ?? 0), 0),
  };
  const first = spoken.findIndex(({ role }) => role === 'user');
  const last = spoken.findLastIndex(({ role }) => role === 'assistant');
  return spoken.map((message, index) => ({
    role: turnRole(message),
    content: contentText(message),
    // Inspect counts tokens of a sample as a whole.
    token_count: index === first ? counts.prompt : index === last ? counts.completion : 0,
    metadata: {
      ...(message.role !== 'user' && message.role !== 'assistant' && { role: message.role }),
      ...(message.function != null && { name: message.function }),
      ...(message.tool_call_id != null && { tool_call_id: message.tool_call_id }),
      ...(message.tool_calls?.length && { tool_calls: message.tool_calls.map(storedCall) }),
    },
  }));
}

/** As our own results have calls. */
function storedCall({
  id,
  function: name,
  arguments: given,
}: NonNullable<LoggedMessage['tool_calls']>[number]) {
  const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
  return { ...(id != null && { id }), name: name ?? '', arguments: text };
}

function inputMessages(input: LoggedSample['input']): readonly LoggedMessage[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input;
}

function turnRole({ role }: LoggedMessage): StoredTurn['role'] {
  if (role === 'assistant') return 'assistant';
  return role === 'tool' ? 'environment' : 'user';
}

function contentText({ content }: LoggedMessage): string {
  if (typeof content === 'string') return content;
  return content.map(({ type, text, reasoning }) => text ?? reasoning ?? `[${type}]`).join('\n');
}
