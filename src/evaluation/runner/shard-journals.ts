import { join } from 'node:path';
import { parseJsonObject } from '../../stores/json-lines';
import { LineIndex } from './line-index';
import type { GradeRow, SampleRow } from './shard-rows';
import { keyOfLine, unitKeyOf } from './shard-rows';

/** The journals of a shard that is done. Rows are read as they are asked for. */
export class ShardRecord {
  /** Keys of rows by the keys of their units: of a judgement its own, else of the last of the unit's failures. */
  private readonly judged = new Map<string, string>();

  private constructor(
    private readonly grades: LineIndex,
    private readonly samples: LineIndex,
  ) {
    for (const key of grades.keys()) {
      const unit = unitKeyOf(key);
      if (key === unit || this.judged.get(unit) !== unit) this.judged.set(unit, key);
    }
  }

  static async open(folder: string): Promise<ShardRecord> {
    const grades = await LineIndex.open(join(folder, 'grades.jsonl'), keyOfLine);
    try {
      return new ShardRecord(grades, await LineIndex.open(join(folder, 'samples.jsonl'), keyOfLine));
    } catch (error) {
      grades.close();
      throw error;
    }
  }

  /** Units that are judged or have failed, by their keys. */
  units(): Iterable<string> {
    return this.judged.keys();
  }

  /** The judgement of a unit, or else the last of its failures. */
  grade(unit: string): GradeRow | null {
    return parseJsonObject<GradeRow>(this.grades.get(this.judged.get(unit) ?? '') ?? '');
  }

  /** What a judgement rests on; fewer than it names where some are not there. */
  samplesOf(grade: GradeRow): SampleRow[] {
    return grade.samples.flatMap((key) => parseJsonObject<SampleRow>(this.samples.get(key) ?? '') ?? []);
  }

  close(): void {
    this.grades.close();
    this.samples.close();
  }
}

/** Whether a shard that says of itself that it is done still has the judgements of its units, and the completions that they rest on. */
export async function isShardWhole(folder: string, unitCount: number): Promise<boolean> {
  const record = await ShardRecord.open(folder);
  try {
    let count = 0;
    for (const unit of record.units()) {
      const grade = record.grade(unit);
      if (!grade) continue;
      if (record.samplesOf(grade).length < grade.samples.length) return false;
      count += 1;
    }
    return count >= unitCount;
  } finally {
    record.close();
  }
}
