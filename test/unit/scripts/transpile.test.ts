import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(__dirname, '../../..');
const run = promisify(execFile);

test('a program of ES modules imports by name what a checkout exports', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-transpile-'));
  try {
    await run(process.execPath, [join(ROOT, 'scripts/transpile.js'), '--outDir', join(folder, 'dist')]);
    const module = join(folder, 'dist/core/extremes.js');
    const program = `
      import { createRequire } from 'node:module';
      const names = Object.keys(createRequire('${module}')('${module}'));
      const named = await import('${module}');
      console.log(JSON.stringify({ names, missing: names.filter((name) => !(name in named)) }));`;

    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program]);

    const { names, missing } = JSON.parse(stdout) as { names: string[]; missing: string[] };
    expect(names).toContain('largestOf');
    expect(missing).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
