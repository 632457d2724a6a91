import type { Completion, CompletionRequest, ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import { seedOf } from '../digest';
import type { Asked } from './ask';
import { ask } from './ask';
import { messageText } from './message-text';
import type { Intake } from './intake';
import type { SampleRow } from './shard-rows';
import type { ExampleUnit, ShardTask } from './shard-task';
import type { TimeBudget } from './time-budget';

/** What an episode needs of its shard. */
export interface EpisodeSite {
  readonly task: ShardTask;
  readonly signal: AbortSignal;
  /** Completions that are paid for, of units that are not judged yet. */
  readonly known: Map<string, SampleRow>;
  /** What waits for a place at the model. */
  readonly intake: Intake;
  readonly keep: (row: SampleRow) => void;
  /** Waits where answers could not be kept; throws where nobody would read them. */
  readonly mayAsk: () => Promise<void> | null;
  /** Lets others have the thread before an answer is judged. */
  readonly takeTurn: () => Promise<void> | null;
  /** Takes steps of foreign code one by one; null while no worker died with this shard in hand. */
  readonly takeCare: (<Result>(key: string, step: () => Promise<Result>) => Promise<Result>) | null;
  /** Takes a step of foreign code. */
  readonly runForeign: <Result>(key: string, subject: string, step: () => Promise<Result>) => Promise<Result>;
}

/** A place in a conversation where the model is to speak. */
export interface Turn {
  readonly key: string;
  readonly index: number;
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDeclaration[];
}

interface Sampling {
  readonly site: EpisodeSite;
  readonly unit: ExampleUnit;
  readonly budget: TimeBudget;
}

type Sampled = { readonly row: SampleRow } | Exclude<Asked, { readonly completion: Completion }>;

/** The completion of a turn: the one that is journalled, or a new one, which is journalled at once. */
export async function sampleTurn(sampling: Sampling, turn: Turn): Promise<Sampled> {
  const { site, unit } = sampling;
  const known = site.known.get(turn.key);
  if (known) {
    site.intake.leave(unit);
    return { row: known };
  }
  const asked = await askWithPermit(sampling, requestOf(sampling, turn));
  if (!('completion' in asked)) return asked;
  const row = rowOf(unit, turn, asked.completion);
  site.known.set(row.key, row);
  site.keep(row);
  return { row };
}

/** An episode of several turns has its permit from beginning to end. */
async function askWithPermit({ site, unit, budget }: Sampling, request: CompletionRequest): Promise<Asked> {
  const { completer, permits, rank, subject } = site.task;
  const asking = { completer, budget, signal: site.signal };
  if (subject.environment) {
    await site.mayAsk();
    return ask(asking, request);
  }
  const place = permits.take(rank);
  if (place) await place;
  site.intake.leave(unit);
  try {
    site.signal.throwIfAborted();
    // After the wait for a permit, in which a later attempt may have taken over.
    const room = site.mayAsk();
    if (room) await room;
    return await ask(asking, request);
  } finally {
    permits.give();
  }
}

function requestOf({ site, unit }: Sampling, { index, messages, tools }: Turn): CompletionRequest {
  const { maxTokens, temperature, topP } = site.task.subject.generation;
  const seed = seedOf(seedText(unit, index));
  return { messages, params: { maxTokens, temperature, topP, seed }, ...(tools && { tools }) };
}

/** The first completion of the first sample has the seed of its example. */
function seedText({ example, sampleIndex }: ExampleUnit, turn: number): string {
  const sample = sampleIndex === 0 ? '' : `/sample-${sampleIndex}`;
  return `${example.id}${sample}${turn === 0 ? '' : `/turn-${turn}`}`;
}

function rowOf({ example, sampleIndex }: ExampleUnit, turn: Turn, completion: Completion): SampleRow {
  const { message, rawText } = completion;
  return {
    key: turn.key,
    example_id: example.id,
    sample_index: sampleIndex,
    turn: turn.index,
    message,
    ...(rawText !== messageText(message) && { raw: rawText }),
    stop_reason: completion.stopReason,
    ...(completion.isMalformed && { is_malformed: true }),
    prompt_tokens: completion.promptTokenCount,
    completion_tokens: completion.completionTokenCount,
    time_seconds: completion.seconds,
  };
}
