import { smallestOf } from '../../core/extremes';
import type { StreamEvent } from '../http/event-stream';
import type { FeedCursor, FeedEvent } from './feed-cursor';
import { FEED_JOURNALS, shortDigest, writeCursor } from './feed-cursor';
import type { JournalMirror } from './journal-mirror';

/** What a run's tail knows, for all who follow it. */
export interface FeedSource {
  readonly owner: string;
  readonly mirrors: Readonly<Record<FeedEvent, JournalMirror>>;
}

const NO_ROW = '0'.repeat(8);

/** One client's way through the rows of a run: each one once, also from where another connection left off. */
export class FeedReader {
  private readonly counts: Record<FeedEvent, number>;
  private cutsSeen: number;
  /** The digest a resuming client gave for its last step, until that row can be looked at. */
  private claimed: string | null;
  /** Was told of rows of another run by this name. */
  private isStale: boolean;

  constructor(
    private readonly source: FeedSource,
    from: FeedCursor | 'start' | 'now',
  ) {
    const cursor = typeof from === 'string' ? null : from;
    this.isStale = cursor !== null && cursor.owner !== source.owner;
    const isResumed = cursor !== null && !this.isStale;
    this.cutsSeen = source.mirrors.step.cuts.length;
    this.claimed = isResumed && cursor.counts.step > 0 ? cursor.step : null;
    const countOf = (event: FeedEvent): number => {
      if (isResumed) return cursor.counts[event];
      return from === 'now' ? source.mirrors[event].lines.length : 0;
    };
    this.counts = {
      control: countOf('control'),
      step: countOf('step'),
      checkpoint: countOf('checkpoint'),
      score: countOf('score'),
      event: countOf('event'),
    };
  }

  get id(): string {
    return this.idOf(false);
  }

  get endId(): string {
    return this.idOf(true);
  }

  /** What is new. `isOver`: no more rows will come. */
  *take(isOver: boolean): Generator<StreamEvent> {
    if (this.isStale) {
      this.isStale = false;
      yield { ...this.rewindTo(0), data: JSON.stringify({ step: 0, isAnotherRun: true }) };
    }
    const rewind = this.checkClaim(isOver) ?? this.followCuts();
    if (rewind) yield rewind;
    for (const { event } of FEED_JOURNALS) {
      const { lines } = this.source.mirrors[event];
      while (this.counts[event] < lines.length) {
        // The claimed row has to be looked at before the next one is told.
        if (event === 'step' && this.claimed !== null) break;
        const data = lines[this.counts[event]++] ?? '';
        yield { id: this.id, event, data };
      }
    }
  }

  /** Compares the last step a resuming client heard of with the one there is; null where it is the same, or not there yet. */
  private checkClaim(isOver: boolean): StreamEvent | null {
    if (this.claimed === null) return null;
    const { lines } = this.source.mirrors.step;
    const line = lines[this.counts.step - 1];
    if (line === undefined && !isOver) return null;
    const isSame = line !== undefined && shortDigest(line) === this.claimed;
    this.claimed = null;
    return isSame ? null : this.rewindTo(0);
  }

  private followCuts(): StreamEvent | null {
    const { cuts } = this.source.mirrors.step;
    const left = smallestOf(cuts.slice(this.cutsSeen));
    this.cutsSeen = cuts.length;
    return left < this.counts.step ? this.rewindTo(left) : null;
  }

  /** Tells that steps after so many rows are void. */
  private rewindTo(count: number): StreamEvent {
    this.counts.step = count;
    this.claimed = null;
    const line = this.source.mirrors.step.lines[count - 1];
    return {
      id: this.id,
      event: 'rewind',
      data: JSON.stringify({ step: line === undefined ? 0 : stepOf(line) }),
    };
  }

  private idOf(isEnd: boolean): string {
    const line = this.source.mirrors.step.lines[this.counts.step - 1];
    const step = line === undefined ? (this.claimed ?? NO_ROW) : shortDigest(line);
    return writeCursor({ owner: this.source.owner, counts: this.counts, step, isEnd });
  }
}

function stepOf(line: string): number {
  const row: unknown = JSON.parse(line);
  const step = typeof row === 'object' && row !== null && 'step' in row ? row.step : 0;
  return typeof step === 'number' ? step : 0;
}
