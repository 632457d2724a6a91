import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-foreign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What a process says in which errors that nobody catches are told to `strayThrow`. */
function endOf(work: string): { readonly code: number | null; readonly said: string[] } {
  const program = join(folder, 'program.ts');
  const source = join(ROOT, 'src/evaluation/foreign-work');
  writeFileSync(
    program,
    `import * as foreign from ${JSON.stringify(source)};
const say = (text: unknown) => console.log(String(text));
const strays: (() => void)[] = [];
const nextStray = () => new Promise<void>((done) => strays.push(done));
const told = (error: unknown) => {
  say(foreign.strayThrow(error)?.text ?? null);
  for (const done of strays.splice(0)) done();
};
process.on('uncaughtException', told);
foreign.watchMicrotasks(told);
foreign.refuseExits();
void (async () => {
${work}
})();
`,
  );
  const cli = join(ROOT, 'node_modules/jiti/lib/jiti-cli.mjs');
  const { status, stdout } = spawnSync(process.execPath, [cli, program], { encoding: 'utf8' });
  return { code: status, said: stdout.trim().split('\n') };
}

test.each([
  ['a timer', "setTimeout(() => { throw new Error('late'); }, 5);"],
  ['an immediate', "setImmediate(() => { throw new Error('late'); });"],
  ['an event', "new (require('node:events'))().emit('error', new Error('late'));"],
  ['a callback', "require('node:fs').stat('/', () => { throw new Error('late'); });"],
  ['a microtask', "queueMicrotask(() => { throw new Error('late'); });"],
  ['a tick', "process.nextTick(() => { throw new Error('late'); });"],
])('what is thrown in %s fails the work that began it', (_where, code) => {
  const { said } = endOf(`
    let end = () => {};
    const other = foreign.runForeign({ subject: 'other' }, () => new Promise((done) => { end = () => done('done'); }));
    const work = foreign.runForeign({ subject: 'mine' }, async () => { setTimeout(() => { ${code} }, 5); await new Promise(() => {}); });
    await work.catch((error) => say(error.message));
    end();
    say(await other);
    process.exit(0);`);

  const threw =
    /threw in a timer, an event or a callback, where nothing catches it: late \(at .*program\.ts:\d+:\d+\)\.$/;
  expect(said).toEqual([
    expect.stringMatching(/^mine, which has failed by it, threw /),
    expect.stringMatching(/^It threw /),
    'done',
  ]);
  for (const row of said.slice(0, 2)) expect(row).toMatch(threw);
});

test('what throws after its work is over is told by its name, and what is nobody’s is not', () => {
  const { said } = endOf(`
    await foreign.runForeign({ subject: 'mine' }, async () => { setTimeout(() => { throw new Error('late'); }, 20); });
    await nextStray();
    setTimeout(() => { throw new Error('ours'); }, 1);
    await nextStray();
    process.exit(0);`);

  expect(said).toEqual([expect.stringMatching(/^mine, which is over, threw .*: late /), 'null']);
});

test('only code that is not ours is refused the end of the process', () => {
  const { code, said } = endOf(`
    await foreign.runForeign({ subject: 'mine' }, async () => { process.exit(3); }).catch((error) => say(error.message));
    process.exit(4);`);

  expect({ code, said }).toEqual({
    code: 4,
    said: ['process.exit() would end the worker, which others share. Throw an error instead.'],
  });
});

test('the one at work is blamed, as what is around it where it is not named itself, and all others are excused', () => {
  const { said } = endOf(`
    const noteOf = (name: string) => ({ excuse: () => say(name + ' excused') });
    const [guilty, innocent] = [noteOf('guilty'), noteOf('innocent')];
    for (const note of [guilty, innocent]) foreign.keepNote(note);
    foreign.keepNote(noteOf('gone'))();
    const counts = { note: guilty, blame: (cause: string) => say('guilty by ' + cause) };
    await foreign.runForeign({ subject: 'around', counts }, () =>
      foreign.runForeign({}, async () => { say(foreign.blameWorkInHand('a loop')); }),
    );
    say(foreign.blameWorkInHand('nobody'));
    process.exit(0);`);

  expect(said).toEqual(['innocent excused', 'guilty by a loop', 'around', 'null']);
});
