import { createOutput } from '../../../src/cli/output';
import type { Output } from '../../../src/cli/output';

export interface Recording {
  readonly output: Output;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

export function recordOutput(
  options: { json?: boolean; terminal?: boolean; color?: boolean } = {},
): Recording {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY: options.terminal === true,
    columns: 100,
    write: (text: unknown) => {
      written[name] += String(text);
      return true;
    },
  });
  return {
    output: createOutput({
      json: options.json === true,
      stdout: stream('stdout'),
      stderr: stream('stderr'),
      color: options.color ?? false,
    }),
    stdout: () => written.stdout,
    stderr: () => written.stderr,
  };
}
