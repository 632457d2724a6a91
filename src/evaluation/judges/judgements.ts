import { join } from 'node:path';
import type { CompletionStop } from '../../core/completion';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import type { Journal } from '../../stores/fenced-journal';
import { openJournal } from '../../stores/fenced-journal';
import { RowWriter } from '../runner/row-writer';
import { SharedJudgements } from './shared-judgements';

/** What a judge said to one request; a row of `journal/…/judgements.jsonl`. */
export interface Judgement {
  /** Digest of the judge, its sampling parameters and the request. */
  readonly key: string;
  readonly example_id: string;
  /** What it is about, e.g. `grade`, `game-1`. */
  readonly stage: string;
  readonly judge: string;
  readonly text: string;
  readonly stop_reason: CompletionStop;
  /** The service says that the judge declined. */
  readonly is_refusal?: true;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly time_seconds: number;
  /** Said in an earlier run, and used again. */
  readonly is_cached?: true;
}

/** Where it is kept what judges said, so that nobody is asked twice. */
export interface JudgementStore {
  find(key: string): Judgement | undefined | Promise<Judgement | undefined>;
  /** Of any run; what is found there becomes part of this one. */
  findElsewhere(key: string, facts: Pick<Judgement, 'example_id' | 'stage'>): Promise<Judgement | null>;
  /** Settles when it is kept, so that nothing is made of a judgement that could be lost. */
  keep(row: Judgement, mayBeShared: boolean): Promise<void>;
  /** Waits where judgements could not be kept; throws where nobody would read them. */
  mayAsk(): Promise<void>;
}

export interface JudgementPlaces {
  /** Of the shard: holds `judgements.jsonl` beside its completions. */
  readonly folder: string;
  /** Judgements of all runs by their keys: `<first two digits>/<key>.json`; null keeps none. */
  readonly cacheFolder: string | null;
  readonly epoch: number;
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
  /** Hears that judgements wait for room. */
  readonly onWaiting?: TellWaiting;
}

/** Keeps what judges said here and, by its content, for other runs that ask the same. */
export abstract class KeptJudgements implements JudgementStore {
  protected constructor(private readonly shared: SharedJudgements<Judgement>) {}

  abstract find(key: string): Judgement | undefined | Promise<Judgement | undefined>;
  abstract mayAsk(): Promise<void>;
  /** Settles when it is kept here. */
  protected abstract write(row: Judgement): Promise<void>;

  async findElsewhere(
    key: string,
    facts: Pick<Judgement, 'example_id' | 'stage'>,
  ): Promise<Judgement | null> {
    const row = await this.shared.find(key, facts);
    if (row) await this.write(row);
    return row;
  }

  async keep(row: Judgement, mayBeShared: boolean): Promise<void> {
    await this.write(row);
    if (mayBeShared) await this.shared.keep(row);
  }
}

/**
 * Judgements of one shard, in a journal of their own: those that are there are not asked for again, whatever became of the
 * score they led to. Beside it they are kept by their content, for other runs that ask the same.
 */
export class Judgements extends KeptJudgements {
  private readonly writer: RowWriter<Judgement>;

  private constructor(
    private readonly journal: Journal<Judgement>,
    shared: SharedJudgements<Judgement>,
    { signal, onFailure, onWaiting }: JudgementPlaces,
  ) {
    super(shared);
    this.writer = new RowWriter(journal, { signal, onFailure, onWaiting });
  }

  static async open(places: JudgementPlaces): Promise<Judgements> {
    const path = join(places.folder, 'judgements.jsonl');
    const journal = await openJournal<Judgement>({ path, epoch: places.epoch, keyOf: ({ key }) => key });
    return new Judgements(journal, new SharedJudgements<Judgement>(places.cacheFolder), places);
  }

  /** Of this shard. */
  find(key: string): Judgement | undefined {
    return this.journal.get(key);
  }

  async mayAsk(): Promise<void> {
    this.writer.verify();
    await this.writer.whenRoom();
  }

  async close(): Promise<void> {
    await this.writer.end();
    await this.journal.close();
  }

  protected async write(row: Judgement): Promise<void> {
    this.writer.add(row);
    await this.writer.flush();
  }
}
