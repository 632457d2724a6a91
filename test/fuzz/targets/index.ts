import path from 'node:path';
import type { FuzzTarget } from '../target';

/** Every parser of what others write, by the file that has it. */
export const TARGET_NAMES: readonly string[] = [
  ...[
    'serve-bodies',
    'engine-bodies',
    'engine-protobuf',
    'checkpoint-meta',
    'safetensors',
    'weights-archive',
    'age',
  ],
  ...['journals', 'results', 'configs', 'datasets', 'parquet', 'inspect-logs'],
  ...['graders', 'answers', 'tool-calls', 'jinja', 'queries'],
];

/** Loaded when it is asked for: together they bring along all of the program. */
export async function loadTarget(name: string): Promise<FuzzTarget> {
  const loaded = (await import(path.join(__dirname, requireTarget(name)))) as { readonly target: FuzzTarget };
  return loaded.target;
}

export function requireTarget(name: string): string {
  if (TARGET_NAMES.includes(name)) return name;
  throw new Error(`--target is "${name}". Known: ${TARGET_NAMES.join(', ')}.`);
}
