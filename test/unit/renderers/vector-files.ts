import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export interface VectorCase<Input, Expected> {
  readonly input: Input;
  readonly expected: Expected;
}

/** Cases of the reference's behaviour, kept beside the repository; null where they are absent. */
export function readVectors<Input, Expected>(
  file: string,
  source: string,
): readonly VectorCase<Input, Expected>[] | null {
  const folder = process.env['EVERSTEP_VECTORS_DIR'] ?? resolve(__dirname, '../../../../shared/vectors');
  const path = join(folder, file);
  if (!existsSync(path)) return null;
  const { groups } = JSON.parse(readFileSync(path, 'utf8')) as {
    groups: { source: string; cases: VectorCase<Input, Expected>[] }[];
  };
  const found = groups.find((group) => group.source === source);
  if (!found) throw new Error(`${path} has no group "${source}"`);
  return found.cases;
}
