import type { CompletionStop } from '../../core/completion';
import type { Message } from '../../core/conversation';
import type { LineSlice } from './line-slices';

/*
 * Rows of a shard's journals.
 *
 * ```
 * journal/shard-<n>/samples.jsonl    one row a completion, as soon as it has arrived
 * journal/shard-<n>/grades.jsonl     one row a sample that is judged, and one a sample that failed in an attempt
 * ```
 *
 * The key stands first in a line, so that a reader finds it without parsing the rest.
 */

export interface SampleRow {
  /** Digest of model, example and prompt; sample index; turn. */
  readonly key: string;
  readonly example_id: string;
  readonly sample_index: number;
  readonly turn: number;
  readonly message: Message;
  /** All the model wrote, where that is more than the message says. */
  readonly raw?: string;
  readonly stop_reason: CompletionStop;
  readonly is_malformed?: true;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly time_seconds: number;
}

export type Truncation = 'max_tokens_reached' | 'context_overflow';

export interface GradeRow {
  readonly key: string;
  readonly example_id: string;
  readonly sample_index: number;
  /** Completions that led here, by their keys. */
  readonly samples: readonly string[];
  readonly value: number;
  readonly answer?: string | null;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly logs?: Readonly<Record<string, unknown>>;
  /** What the environment began with, where the example's own messages do not say it. */
  readonly asked?: readonly Message[];
  /** What the environment said after each completion; after the last only where it said something. */
  readonly environment?: readonly (readonly Message[])[];
  /** Why the environment ended it, where it says so. */
  readonly stop_reason?: string;
  readonly truncation?: Truncation;
  /** The sample failed in this attempt; not final. */
  readonly error?: string;
}

/** Of a line as `JSON.stringify` writes rows. */
export function keyOfLine({ bytes, start, end }: LineSlice): string | null {
  const from = start + KEY_START.length;
  if (bytes.compare(KEY_START, 0, KEY_START.length, start, Math.min(from, end)) !== 0) return null;
  const to = bytes.indexOf(QUOTE, from);
  // A text of its own: cut from that of the line it would keep the line.
  return to < 0 || to > end ? null : bytes.toString('latin1', from, to);
}

/** A failure's key says which attempt failed. */
export function unitKeyOf(key: string): string {
  const end = key.indexOf('!');
  return end < 0 ? key : key.slice(0, end);
}

const KEY_START = Buffer.from('{"key":"');
const QUOTE = 34;
