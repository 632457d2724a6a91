import { callText } from '../../core/call-text';
import type { Message } from '../../core/conversation';
import type { StoredTrajectory, StoredTurn } from '../../stores/eval-store';
import { turnMetadata } from '../../stores/turn-calls';
import { messageText } from './message-text';
import type { GradeRow, SampleRow } from './shard-rows';
import type { ExampleUnit } from './shard-task';

export interface TrajectoryContext {
  readonly benchmark: string;
  readonly numSamples: number;
  readonly systemPrompt?: string;
  /** The prompt as the model reads it, where that is known; else what its messages say. */
  readonly promptText?: (messages: readonly Message[]) => string;
}

/** What the journal has of one unit. */
export interface JournalledUnit {
  readonly unit: ExampleUnit;
  readonly grade: GradeRow;
  readonly samples: readonly SampleRow[];
}

/** A line of `trajectories.jsonl`. */
export function trajectoryOf(
  idx: number,
  { unit, grade, samples }: JournalledUnit,
  context: TrajectoryContext,
): StoredTrajectory {
  const { example, sampleIndex } = unit;
  const { value: reward, answer = null, metrics, logs, truncation, stop_reason, error = null } = grade;
  return {
    idx,
    benchmark: context.benchmark,
    example_id: example.id,
    ...(context.numSamples > 1 && { sample_index: sampleIndex }),
    turns: turnsOf({ unit, grade, samples }, context),
    reward,
    metrics: { correct: Number(reward > 0), ...metrics, ...(truncation && { [truncation]: 1 }) },
    logs: {
      ...{ example_id: example.id, target: example.target, answer },
      ...(example.cluster !== undefined && { cluster: example.cluster }),
      ...(stop_reason !== undefined && { stop_reason }),
      ...logs,
    },
    error,
    time_seconds: samples.reduce((total, sample) => total + sample.time_seconds, 0),
  };
}

function turnsOf({ unit, grade, samples }: JournalledUnit, context: TrajectoryContext): StoredTurn[] {
  const [first] = samples;
  if (!first) return [];
  const { asked = unit.example.messages } = grade;
  const turns: StoredTurn[] = [askedTurn(asked, first, context)];
  for (const [index, sample] of samples.entries()) {
    turns.push(answeredTurn(sample, index));
    for (const message of grade.environment?.[index] ?? []) turns.push(environmentTurn(message));
  }
  if (isJudged(grade)) turns.push(judgedTurn(grade));
  return turns;
}

function isJudged({ truncation, error }: GradeRow): boolean {
  return truncation === undefined && error === undefined;
}

function askedTurn(asked: readonly Message[], sample: SampleRow, context: TrajectoryContext): StoredTurn {
  const system: Message[] =
    context.systemPrompt === undefined ? [] : [{ role: 'system', content: context.systemPrompt }];
  const messages = [...system, ...asked];
  const content = context.promptText?.(messages) ?? messages.map(askedText).join('\n\n');
  return { role: 'user', content, token_count: sample.prompt_tokens ?? 0, metadata: {} };
}

/** Prompts may have calls, of turns that are shown as examples. */
function askedText(message: Message): string {
  const calls = (message.toolCalls ?? []).map(callText);
  return [messageText(message), ...calls].filter((line) => line !== '').join('\n');
}

/** What the first request read is counted by the turn that asked. */
function answeredTurn(sample: SampleRow, index: number): StoredTurn {
  const { message, raw, stop_reason, prompt_tokens, completion_tokens } = sample;
  return {
    role: 'assistant',
    content: raw ?? messageText(message),
    token_count: completion_tokens ?? 0,
    metadata: {
      stop_reason,
      ...(index > 0 && prompt_tokens !== null && { prompt_tokens }),
      ...(message.toolCalls && { tool_calls: message.toolCalls }),
    },
  };
}

function environmentTurn(message: Message): StoredTurn {
  return {
    role: 'environment',
    content: messageText(message),
    token_count: 0,
    metadata: turnMetadata(message),
  };
}

function judgedTurn({ value, answer = null, logs }: GradeRow): StoredTurn {
  const explanation = logs?.['explanation'];
  return {
    role: 'grader',
    content: typeof explanation === 'string' ? explanation : '',
    token_count: 0,
    metadata: { value, answer },
  };
}
