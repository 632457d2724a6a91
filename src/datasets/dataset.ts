import type { ToolDeclaration } from '../core/completion';
import type { Message } from '../core/conversation';

/** One example: a conversation and what it is known by. */
export interface ConversationRow {
  /** Hash of messages, tools and rubric: equal conversations have equal ids, whichever file or format they come from. */
  readonly id: string;
  readonly messages: readonly Message[];
  /** What the model may call in it. */
  readonly tools?: readonly ToolDeclaration[];
  /** What a judge scores one by one, where the row's own items are asked for. */
  readonly rubric?: readonly string[];
  /** Where its messages stand in the row, for what is found wrong with one. */
  readonly numbers?: { readonly field: string; readonly before: number };
  /** File and line where it was read. */
  readonly place?: string;
}

/** A row left out because `onBadRow` is `skip`. `line` counts from 1; in `.json` and `.parquet` it is the row. */
export interface SkippedRow {
  readonly file: string;
  readonly line: number;
  readonly reason: string;
  /** Bad rows behind it that are not listed. Only the last of a list has some. */
  readonly others?: number;
}

export interface DatasetSource {
  readonly description: string;
  readonly files: readonly string[];
  /** Commit of a dataset from the hub. */
  readonly revision?: string;
}

export interface LoadedDataset {
  readonly rows: readonly ConversationRow[];
  /** SHA-256 of the files' bytes, one after another: what `cat FILES | sha256sum` prints. */
  readonly contentHash: string;
  readonly source: DatasetSource;
  readonly skipped: readonly SkippedRow[];
}

/** A file of rows, already on this machine. `name` is what people call it; `path` is where it lies. */
export interface DatasetFile {
  readonly name: string;
  readonly path: string;
}

/** A row as found in a file, before anybody looked at its fields. */
export type RawRow =
  { readonly line: number; readonly value: unknown } | { readonly line: number; readonly problem: string };
