import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-stuck-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A process with a patience of one second, which then does `work`. */
async function endOf(
  work: string,
  nodeOptions: readonly string[] = [],
): Promise<{ signal: string | null; code: number | null; said: string }> {
  const program = join(folder, 'program.ts');
  const source = join(ROOT, 'src/workers/end-when-stuck');
  writeFileSync(
    program,
    `import { endWhenStuck } from ${JSON.stringify(source)};\nendWhenStuck(1);\n${work}\n`,
  );
  const child = spawn(
    process.execPath,
    [...nodeOptions, join(ROOT, 'node_modules/jiti/lib/jiti-cli.mjs'), program],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const chunks: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const end = await new Promise<{ code: number | null; signal: string | null }>((resolveEnd) => {
    child.on('close', (code, signal) => {
      resolveEnd({ code, signal });
    });
  });
  return { ...end, said: Buffer.concat(chunks).toString() };
}

test('a process whose event loop never turns is ended, and says why', async () => {
  const { signal, said } = await endOf('setTimeout(() => { for (;;); }, 50);');

  expect(signal).toBe('SIGKILL');
  expect(said).toContain('never gives the event loop back');
});

test('one that only waits, or works bit by bit, goes on to its end', async () => {
  const { code, said } = await endOf('setTimeout(() => { process.exitCode = 7; }, 2500);');

  expect({ code, said }).toEqual({ code: 7, said: '' });
});

test('one that is debugged may stand still', async () => {
  const work = 'const end = Date.now() + 2500; while (Date.now() < end); process.exitCode = 7;';

  expect(await endOf(work, ['--inspect=127.0.0.1:0'])).toMatchObject({ code: 7 });
});
