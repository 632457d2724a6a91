import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { innermostOfOthers } from '../../../src/evaluation/thrown-at';

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
  const foreign = join(ROOT, 'src/evaluation/foreign-work');
  writeFileSync(
    program,
    `import { endWhenStuck } from ${JSON.stringify(source)};\nimport { runForeign } from ${JSON.stringify(foreign)};\nendWhenStuck(1);\n${work}\n`,
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

test('where code that keeps it is known, it is named with its place, and noted', async () => {
  const work = `
const counts = { note: { excuse: () => undefined }, blame: (cause) => process.stderr.write('noted: ' + cause + '\\n') };
function spin() {
  for (;;);
}
void runForeign({ subject: 'evaluator "mine"', counts }, async () => { await undefined; spin(); });`;
  const { signal, said } = await endOf(work);

  expect(signal).toBe('SIGKILL');
  expect(said).toMatch(/^noted: it kept the worker from everything else for \d+ s at \S*program\.ts:\d+$/m);
  expect(said).toMatch(/did nothing else for \d+ s: evaluator "mine" at \S*program\.ts:\d+ never gives/);
});

test('what cannot be stopped to be asked is ended all the same', async () => {
  const { signal, said } = await endOf(
    `setTimeout(() => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); }, 50);`,
  );

  expect(signal).toBe('SIGKILL');
  expect(said).toContain('never gives the event loop back');
});

test('the program that it may wait for is named', async () => {
  const { signal, said } = await endOf(
    `import { execSync } from 'node:child_process';\nsetTimeout(() => { execSync('sleep 1000'); }, 50);`,
  );

  expect(signal).toBe('SIGKILL');
  const [, id] =
    /It may wait for a program that it started: "sleep" \(process (\d+)\)\. The process ends/.exec(said) ??
    [];
  process.kill(Number(id));
});

test('pieces of work that follow each other without a pause are not one that never ends', async () => {
  const piece = 'const end = Date.now() + 700; while (Date.now() < end);';
  const work = `let left = 3; (function next() { ${piece} if (--left > 0) setImmediate(next); else process.exitCode = 7; })();`;

  expect(await endOf(work)).toMatchObject({ code: 7 });
});

test('one that gives way to nothing but itself is ended, with its place', async () => {
  const { signal, said } = await endOf('void (async () => { for (;;) await null; })();');

  expect(signal).toBe('SIGKILL');
  expect(said).toMatch(/at \S*program\.ts:\d+ never gives the event loop back/);
});

test('one that only waits, or works bit by bit, goes on to its end', async () => {
  const { code, said } = await endOf('setTimeout(() => { process.exitCode = 7; }, 2500);');

  expect({ code, said }).toEqual({ code: 7, said: '' });
});

test('an address of a file is told as its path', () => {
  expect(innermostOfOthers(['node:internal/timers:5', 'file:///my%20code/a%.ts:7', 'file:///b:1'])).toBe(
    '/my%20code/a%.ts:7',
  );
  expect(innermostOfOthers(['file:///my%20code/a.ts:7'])).toBe('/my code/a.ts:7');
});

test('one that is debugged may stand still', async () => {
  const work = 'const end = Date.now() + 2500; while (Date.now() < end); process.exitCode = 7;';

  expect(await endOf(work, ['--inspect=127.0.0.1:0'])).toMatchObject({ code: 7 });
});
