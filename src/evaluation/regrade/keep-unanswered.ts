import { join } from 'node:path';
import { openJournal } from '../../stores/fenced-journal';
import { readJsonLines } from '../../stores/json-lines';
import type { Example } from '../example';
import type { GradeRow } from '../runner/shard-rows';
import type { ExampleSubject } from '../runner/shard-task';
import { unitsOf } from '../runner/shard-task';

/** A shard whose answers are graded again. */
export interface RegradedShard {
  readonly folder: string;
  readonly epoch: number;
  /** As the present grader grades it. */
  readonly subject: ExampleSubject;
  readonly examples: Iterable<Example>;
}

/** A prompt that left no room for an answer counts 0 whoever grades: nobody has to be asked to know it again. */
export async function keepUnanswered({ folder, epoch, subject, examples }: RegradedShard): Promise<void> {
  const path = join(folder, 'grades.jsonl');
  const rows = await readJsonLines<GradeRow>(path);
  const unanswered = new Map(
    rows.flatMap((row) => (row.truncation === 'context_overflow' ? [[unitName(row), row]] : [])),
  );
  if (unanswered.size === 0) return;
  const journal = await openJournal<GradeRow>({ path, epoch, keyOf: ({ key }) => key, remember: 1 });
  try {
    for (const { example, sampleIndex, keys } of unitsOf(subject, examples)) {
      const row = unanswered.get(unitName({ example_id: example.id, sample_index: sampleIndex }));
      if (row) await journal.appendWhenRoom({ ...row, key: keys.grade });
    }
  } finally {
    await journal.close();
  }
}

function unitName({ example_id, sample_index }: Pick<GradeRow, 'example_id' | 'sample_index'>): string {
  return `${sample_index} ${example_id}`;
}
