import { WarmProcess } from '../../../../src/sandboxes/pyodide/warm-process';

/** Answers "die" by ending, "hang" by working without end, "starve" by getting no processor any more, anything else with its process id. */
const SCRIPT = `
  console.log('{"ready":true}');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    if (line === 'die') process.exit(1);
    if (line === 'hang') for (;;);
    if (line === 'starve') process.kill(process.pid, 'SIGSTOP');
    if (line === 'killed') process.kill(process.pid, 'SIGKILL');
    console.log(line + ' ' + process.pid + ' ' + Object.keys(process.env).length);
  });`;

function command(source = SCRIPT) {
  return () => Promise.resolve({ program: process.execPath, args: ['-e', source], environment: {} });
}

let warm: WarmProcess;

beforeEach(() => {
  warm = new WarmProcess({ name: 'The test process', command: command(), spareAfterMs: 100 });
});

afterEach(() => warm.close());

test('answers every question from one process with an empty environment', async () => {
  const answers = await Promise.all(['a', 'b', 'c'].map((question) => warm.ask(question, 5000)));

  const [words, pids, variables] = [0, 1, 2].map((field) =>
    answers.map(({ line }) => line?.split(' ')[field]),
  );
  expect(words).toEqual(['a', 'b', 'c']);
  expect(new Set(pids).size).toBe(1);
  expect(new Set(variables)).toEqual(new Set(['0']));
});

test('an answer of many pieces with separators that are no line feed is one answer', async () => {
  const echo = `
    console.log('{"ready":true}');
    process.stdin.on('data', (text) => process.stdout.write(text.toString().trimEnd().repeat(100_000) + '\\n'));`;
  const echoing = new WarmProcess({ name: 'The echo', command: command(echo) });

  const answers = [await echoing.ask('a\u2028b\u0085c\u2029', 5000), await echoing.ask('d', 5000)];

  await echoing.close();
  expect(answers.map(({ line }) => line)).toEqual([
    'a\u2028b\u0085c\u2029'.trimEnd().repeat(100_000),
    'd'.repeat(100_000),
  ]);
});

test('kills a process that hangs and answers the next question from another', async () => {
  const before = await warm.ask('a', 5000);

  const hanging = await warm.ask('hang', 400);
  const after = await warm.ask('a', 5000);

  expect(hanging).toMatchObject({ line: null, limit: 'time' });
  expect(after.line).not.toBeNull();
  expect(after.line).not.toBe(before.line);
});

test('counts only the time of the question itself', async () => {
  const [first, second] = await Promise.all([warm.ask('hang', 500), warm.ask('a', 500)]);

  expect(first.limit).toBe('time');
  expect(second.limit).toBeUndefined();
});

test('tells a process that died from one that was too slow', async () => {
  expect(await warm.ask('die', 5000)).toMatchObject({ line: null, limit: 'process' });
  expect((await warm.ask('a', 5000)).line).toContain('a ');
});

test('a process that is not given its time is an error and no verdict', async () => {
  const hurried = new WarmProcess({ name: 'X', command: command(), patienceMs: 600 });

  await expect(hurried.ask('starve', 300)).rejects.toMatchObject({ code: 'timed-out', retryable: true });
  // It may be starved by others as well.
  let line: string | null = null;
  while (line === null)
    line = await hurried.ask('a', 5000).then(
      (answer) => answer.line,
      () => null,
    );
  expect(line).toContain('a ');
  await hurried.close();
});

test('a process that is killed from outside is an error and no verdict', async () => {
  await expect(warm.ask('killed', 5000)).rejects.toMatchObject({ code: 'sandbox-lost', retryable: true });
});

test('says why a process does not start', async () => {
  const broken = new WarmProcess({
    name: 'X',
    command: command('console.log(\'{"ready":false,"error":"no"}\')'),
  });

  await expect(broken.ask('a', 1000)).rejects.toThrow(/X does not start: .*"no"/);
  await expect(broken.ask('a', 1000)).rejects.toMatchObject({ retryable: true });
});

test('starts anew after close', async () => {
  await warm.ask('a', 5000);
  await warm.close();

  expect((await warm.ask('b', 5000)).line).toContain('b ');
});
