import { join } from 'node:path';
import { readJson, writeJson } from '../../stores/whole-file';

interface Keyed {
  readonly key: string;
  readonly is_cached?: true;
}

/** Judgements of all runs by their keys: `<first two digits>/<key>.json`. Without a folder none are kept. */
export class SharedJudgements<Judgement extends Keyed> {
  constructor(private readonly folder: string | null) {}

  /** As part of what asks now. */
  async find(key: string, facts: Partial<Judgement>): Promise<Judgement | null> {
    const path = this.pathOf(key);
    const found = path === null ? null : await readJson<Judgement>(path);
    return found?.key === key ? { ...found, ...facts, is_cached: true } : null;
  }

  /** A convenience for other runs: this one has its own. */
  async keep(row: Judgement): Promise<void> {
    const path = this.pathOf(row.key);
    if (path !== null) await writeJson(path, row).catch(() => undefined);
  }

  private pathOf(key: string): string | null {
    return this.folder === null ? null : join(this.folder, key.slice(0, 2), `${key}.json`);
  }
}
