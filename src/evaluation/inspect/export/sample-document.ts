import { ownValue } from '../../../core/own-value';
import { isUnparsed } from '../../judges/parsed-total';
import type { StoredTrajectory, StoredTurn } from '../../../stores/eval-store';
import { identifierOf } from './identifiers';
import { eventsOf } from './sample-events';
import type { SampleMessage } from './sample-messages';
import { messagesOf } from './sample-messages';
import { tokenUsage } from './token-usage';

/** What all samples of one log share. */
export interface SampleContext {
  /** Of the log. */
  readonly logId: string;
  readonly model: string;
  readonly scorer: string;
  /** Tokens read and written together, where that was limited. */
  readonly contextWindow: number | null;
  readonly startedAt: string;
  /** How answers were drawn, by Inspect's names. */
  readonly config: Readonly<Record<string, number>>;
}

const SUMMARY_CHARACTERS = 1000;
const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'stop',
  length: 'max_tokens',
  tool_calls: 'tool_calls',
};

/** A trajectory as Inspect's `EvalSample`. */
export function sampleDocument(trajectory: StoredTrajectory, id: string, context: SampleContext) {
  const { turns, error, logs, time_seconds: seconds } = trajectory;
  const epoch = epochOf(trajectory);
  const uuid = identifierOf(context.logId, id, epoch);
  const { model, startedAt, config } = context;
  const messages = messagesOf(turns, { uuid, model });
  const usage = usageOf(turns);
  const input = turns.find(isQuestion)?.content ?? '';
  const target = targetOf(logs);
  const scores = scoresOf(trajectory, context.scorer);
  const failure = error === null ? null : errorOf(error);
  return {
    ...{ id, epoch, uuid, input, ...choicesOf(logs), target, messages },
    output: outputOf(trajectory, { messages, usage, model }),
    scores,
    metadata: metadataOf(trajectory),
    store: {},
    ...eventsOf({
      ...{ uuid, id, input, target, startedAt, seconds, model, messages, config, scores },
      stopReason: answerStopOf(trajectory),
      error: failure,
    }),
    attachments: {},
    model_usage: usage ? { [model]: usage } : {},
    role_usage: {},
    ...{ started_at: startedAt, total_time: seconds, working_time: seconds },
    ...(failure && { error: failure }),
    ...(overflowed(trajectory) && { limit: { type: 'context', limit: context.contextWindow ?? 0 } }),
    turn_count: turns.filter(({ role }) => role === 'assistant').length,
  };
}

/** Of a conversation that begins with instructions it is what comes after them. */
function isQuestion({ role, metadata }: StoredTurn): boolean {
  return role === 'user' && (metadata['role'] ?? 'user') === 'user';
}

function choicesOf({ choices }: StoredTrajectory['logs']) {
  return Array.isArray(choices) && choices.every((each) => typeof each === 'string') ? { choices } : {};
}

type SampleDocument = ReturnType<typeof sampleDocument>;

/** What Inspect lists samples by; without it its viewer shows none. */
export function summaryDocument(sample: SampleDocument, error: string | null) {
  const { id, epoch, uuid, input, target, scores, model_usage, total_time, working_time, messages } = sample;
  return {
    ...{ id, epoch, uuid, target: target.slice(0, SUMMARY_CHARACTERS), scores, model_usage },
    input: input.slice(0, SUMMARY_CHARACTERS),
    ...{ total_time, working_time, metadata: {}, started_at: sample.started_at },
    ...(error !== null && { error }),
    ...('limit' in sample && { limit: 'context' }),
    ...{ retries: 0, completed: true, message_count: messages.length },
  };
}

export function epochOf({ sample_index: index }: StoredTrajectory): number {
  return (index ?? 0) + 1;
}

export function isScored(trajectory: StoredTrajectory): boolean {
  return trajectory.error === null && !isUnparsed(trajectory);
}

/** The ids of samples are parts of names in the archive. */
export function sampleIdOf({ example_id: given, idx }: StoredTrajectory): string {
  const id = given === '' ? String(idx + 1) : given;
  return /^(\/|[A-Za-z]:)|\\|(^|\/)\.\.(\/|$)/.test(id) ? id.replace(/[\\/:]|\.\./g, '-') : id;
}

function usageOf(turns: readonly StoredTurn[]) {
  const usage = tokenUsage(turns);
  return usage.total_tokens === 0 ? null : usage;
}

interface OutputParts {
  readonly messages: readonly SampleMessage[];
  readonly usage: ReturnType<typeof usageOf>;
  readonly model: string;
}

function outputOf(trajectory: StoredTrajectory, { messages, usage, model }: OutputParts) {
  const message = messages.findLast(({ role }) => role === 'assistant');
  if (!message) return { model, choices: [], completion: '' };
  return {
    model,
    choices: [{ message, stop_reason: answerStopOf(trajectory) }],
    completion: message.content,
    ...(usage && { usage }),
    time: trajectory.time_seconds,
  };
}

function answerStopOf(trajectory: StoredTrajectory): string {
  if (overflowed(trajectory)) return 'model_length';
  const reason = trajectory.turns.findLast(({ role }) => role === 'assistant')?.metadata['stop_reason'];
  const isCut = (trajectory.metrics['max_tokens_reached'] ?? 0) > 0;
  return isCut
    ? 'max_tokens'
    : ((typeof reason === 'string' ? ownValue(STOP_REASONS, reason) : null) ?? 'unknown');
}

function overflowed({ metrics }: StoredTrajectory): boolean {
  return (metrics['context_overflow'] ?? 0) > 0;
}

function targetOf(logs: StoredTrajectory['logs']): string {
  const { target } = logs;
  if (target == null) return '';
  return typeof target === 'string' ? target : JSON.stringify(target);
}

/** An error is no score, nor is a verdict that cannot be read; a completion that was cut off has one, which is 0. */
function scoresOf(trajectory: StoredTrajectory, scorer: string) {
  if (!isScored(trajectory)) return {};
  const { reward, logs, turns, metrics } = trajectory;
  const explanation = turns.findLast(({ role }) => role === 'grader')?.content;
  const { answer } = logs;
  return {
    [scorer]: {
      value: reward,
      ...(typeof answer === 'string' && { answer }),
      ...(explanation !== undefined && explanation !== '' && { explanation }),
      metadata: { ...metrics },
    },
  };
}

function metadataOf({ example_id, logs, metrics }: StoredTrajectory) {
  const others = Object.entries(logs).filter(([name]) => !['target', 'answer', 'choices'].includes(name));
  return { ...Object.fromEntries(others), example_id, metrics };
}

function errorOf(message: string) {
  return { message, traceback: message, traceback_ansi: message };
}
