import type { StoredTrajectory, StoredTurn } from './eval-files';
import { isRecord, parseJsonObject } from './json-lines';

type Fields = Omit<StoredTrajectory, 'sample_index'>;
type Row = Pick<StoredTrajectory, 'sample_index'> & {
  readonly [Key in keyof Fields]?: Fields[Key] | null;
};
type TurnRow = { readonly [Key in keyof StoredTurn]?: StoredTurn[Key] | null };

/**
 * A line of `trajectories.jsonl`, with what readers rely on filled in: other tools leave fields out, or say that they have none.
 * null where it is no trajectory: without an id or a reward, or with a field of another type than its own.
 */
export function readTrajectory(line: string): StoredTrajectory | null {
  const row = parseJsonObject<Row>(line);
  if (row === null) return null;
  const { example_id, reward, turns } = row;
  if (typeof example_id !== 'string' || typeof reward !== 'number') return null;
  const rest = filledIn(row);
  if (!hasItsTypes(rest)) return null;
  return {
    ...row,
    ...rest,
    example_id,
    reward,
    turns: Array.isArray(turns) ? turns.flatMap(readTurn) : [],
  };
}

function filledIn({ idx, benchmark, sample_index, metrics, logs, error, time_seconds }: Row) {
  return {
    idx: idx ?? 0,
    benchmark: benchmark ?? '',
    metrics: metrics ?? {},
    logs: logs ?? {},
    error: error ?? null,
    time_seconds: time_seconds ?? 0,
    ...(sample_index !== undefined && { sample_index }),
  };
}

function hasItsTypes({ metrics, logs, ...row }: ReturnType<typeof filledIn>): boolean {
  return (
    [row.idx, row.time_seconds, row.sample_index ?? 0].every((value) => typeof value === 'number') &&
    [row.benchmark, row.error ?? ''].every((value) => typeof value === 'string') &&
    isRecord(metrics) &&
    Object.values(metrics).every(isNumberOrNone) &&
    isRecord(logs)
  );
}

/** None where it is no turn. Other tools may have parts where we have a text. */
function readTurn(turn: TurnRow | null): StoredTurn[] {
  if (!isRecord(turn) || typeof turn.role !== 'string') return [];
  const { role, content, token_count: count, metadata } = turn;
  return [
    {
      ...turn,
      role,
      content: contentText(content),
      token_count: typeof count === 'number' ? count : 0,
      metadata: isRecord(metadata) ? metadata : {},
    },
  ];
}

function contentText(content: unknown): string {
  if (content === undefined || content === null) return '';
  return typeof content === 'string' ? content : JSON.stringify(content);
}

/** What is no number as JSON, such as NaN, is written as null. */
function isNumberOrNone(value: unknown): boolean {
  return typeof value === 'number' || value === null;
}
