import { createHash } from 'node:crypto';
import { RequestError } from '../http/request-error';

/** Journals that are told of, and by which name, in the order in which they are told. */
export const FEED_JOURNALS = [
  { file: 'controls.jsonl', event: 'control' },
  { file: 'metrics.jsonl', event: 'step' },
  { file: 'checkpoints.jsonl', event: 'checkpoint' },
  { file: 'scores.jsonl', event: 'score' },
  { file: 'events.jsonl', event: 'event' },
] as const;
export type FeedEvent = (typeof FEED_JOURNALS)[number]['event'];

/**
 * How far a client has heard, whoever tells it: rows of each journal, and enough to see that they are of the same run and
 * that the last step is still the one it heard of.
 */
export interface FeedCursor {
  /** Digest of the run's owner: a run of the same name that was started anew is another one. */
  readonly owner: string;
  readonly counts: Readonly<Record<FeedEvent, number>>;
  /** Digest of the last step's row. */
  readonly step: string;
  /** It heard how the run ended. */
  readonly isEnd: boolean;
}

const FORM = /^([0-9a-f]{8})\.(\d{1,9})-(\d{1,9})-(\d{1,9})-(\d{1,9})-(\d{1,9})\.([0-9a-f]{8})(\.end)?$/;

export function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

export function writeCursor({ owner, counts, step, isEnd }: FeedCursor): string {
  const numbers = FEED_JOURNALS.map(({ event }) => counts[event]).join('-');
  return `${owner}.${numbers}.${step}${isEnd ? '.end' : ''}`;
}

export function readCursor(text: string): FeedCursor {
  const [, owner, control, step, checkpoint, score, event, digest, end] = FORM.exec(text) ?? [];
  if (owner === undefined || digest === undefined) {
    throw new RequestError(400, {
      message: 'Last-Event-ID is no id of this feed. Leave it out to hear everything.',
      param: 'Last-Event-ID',
    });
  }
  const counts = {
    control: Number(control),
    step: Number(step),
    checkpoint: Number(checkpoint),
    score: Number(score),
    event: Number(event),
  };
  return { owner, counts, step: digest, isEnd: end !== undefined };
}
