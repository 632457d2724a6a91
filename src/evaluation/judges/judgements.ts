import { join } from 'node:path';
import type { CompletionStop } from '../../core/completion';
import type { Journal } from '../../stores/fenced-journal';
import { openJournal } from '../../stores/fenced-journal';
import { readJson, writeJson } from '../../stores/whole-file';
import { RowWriter } from '../runner/row-writer';

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
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly time_seconds: number;
  /** Said in an earlier run, and used again. */
  readonly is_cached?: true;
}

export interface JudgementPlaces {
  /** Of the shard: holds `judgements.jsonl` beside its completions. */
  readonly folder: string;
  /** Judgements of all runs by their keys: `<first two digits>/<key>.json`; null keeps none. */
  readonly cacheFolder: string | null;
  readonly epoch: number;
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Judgements of one shard, in a journal of their own: those that are there are not asked for again, whatever became of the
 * score they led to. Beside it they are kept by their content, for other runs that ask the same.
 */
export class Judgements {
  private readonly writer: RowWriter<Judgement>;

  private constructor(
    private readonly journal: Journal<Judgement>,
    private readonly cacheFolder: string | null,
    { signal, onFailure }: JudgementPlaces,
  ) {
    this.writer = new RowWriter(journal, { signal, onFailure });
  }

  static async open(places: JudgementPlaces): Promise<Judgements> {
    const path = join(places.folder, 'judgements.jsonl');
    const journal = await openJournal<Judgement>({ path, epoch: places.epoch, keyOf: ({ key }) => key });
    return new Judgements(journal, places.cacheFolder, places);
  }

  /** Of this shard. */
  find(key: string): Judgement | undefined {
    return this.journal.get(key);
  }

  /** Of any run; what is found there becomes part of this one. */
  async findElsewhere(
    key: string,
    facts: Pick<Judgement, 'example_id' | 'stage'>,
  ): Promise<Judgement | null> {
    const path = this.cachePath(key);
    const found = path === null ? null : await readJson<Judgement>(path);
    if (found?.key !== key) return null;
    const row: Judgement = { ...found, ...facts, is_cached: true };
    await this.write(row);
    return row;
  }

  /** Settles when it is in the journal, so that no score is written whose judgement is not. */
  async keep(row: Judgement, mayBeShared: boolean): Promise<void> {
    await this.write(row);
    const path = this.cachePath(row.key);
    // A convenience for other runs: this one has its own.
    if (path !== null && mayBeShared) await writeJson(path, row).catch(() => undefined);
  }

  /** Waits where judgements could not be kept; throws where nobody would read them. */
  async mayAsk(): Promise<void> {
    this.writer.verify();
    await this.writer.whenRoom();
  }

  async close(): Promise<void> {
    await this.writer.end();
    await this.journal.close();
  }

  private async write(row: Judgement): Promise<void> {
    this.writer.add(row);
    await this.writer.flush();
  }

  private cachePath(key: string): string | null {
    return this.cacheFolder === null ? null : join(this.cacheFolder, key.slice(0, 2), `${key}.json`);
  }
}
