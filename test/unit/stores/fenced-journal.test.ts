import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { JournalSpec } from '../../../src/stores/fenced-journal';
import { openJournal } from '../../../src/stores/fenced-journal';
import { readJsonLines } from '../../../src/stores/json-lines';
import { thrownBy } from './thrown-by';

interface Row {
  readonly step: number;
  readonly by?: string;
}

let folder: string;
let path: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-journal-'));
  path = join(folder, 'metrics.jsonl');
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function open(epoch: number, options: Partial<JournalSpec<Row>> = {}) {
  return openJournal<Row>({ path, epoch, keyOf: ({ step }) => String(step), ...options });
}

async function stepsInFile(): Promise<number[]> {
  return (await readJsonLines<Row>(path)).map(({ step }) => step);
}

describe('one attempt', () => {
  test('writes a row once however often it is asked to', async () => {
    const journal = await open(1);

    expect(journal.append({ step: 1 })).toBe(true);
    expect(journal.append({ step: 1, by: 'again' })).toBe(false);
    journal.append({ step: 2 });
    await journal.close();

    expect(readFileSync(path, 'utf8')).toBe('{"step":1}\n{"step":2}\n');
    expect(journal.last()).toEqual({ step: 2 });
    expect(journal.has('1')).toBe(true);
    expect(journal.get('3')).toBeUndefined();
  });

  test('repairs the file when something else took its place', async () => {
    const journal = await open(1);
    journal.append({ step: 1 });
    rmSync(path);
    writeFileSync(path, '{"step":99}\n');

    journal.verify();
    journal.append({ step: 2 });
    await journal.close();

    expect(await stepsInFile()).toEqual([1, 2]);
  });
});

describe('a takeover', () => {
  test.each([
    ['a torn last line', '{"step":1}\n{"step":2}\n{"st', [1, 2]],
    ['a last line without its line break', '{"step":1}\n{"step":2}', [1, 2]],
    ['garbage', '{"step":1}\n\u0000\u0000\n{"step":2}\n', [1, 2]],
    ['empty lines', '\n{"step":1}\n\n{"step":2}\n', [1, 2]],
    ['rows that occur twice', '{"step":1}\n{"step":2}\n{"step":1,"by":"again"}\n', [1, 2]],
    ['values that are no rows', '{"step":1}\n7\n[]\nnull\n', [1]],
  ])('goes on after %s', async (_what, content, steps) => {
    writeFileSync(path, content);

    const journal = await open(1);
    journal.append({ step: 3 });
    await journal.close();

    expect(await stepsInFile()).toEqual([...steps, 3]);
    expect(readFileSync(path, 'utf8').split('\n').filter(Boolean)).toHaveLength(steps.length + 1);
  });

  test('cuts rows that are not to be kept', async () => {
    const first = await open(1);
    for (const step of [1, 2, 3]) first.append({ step });
    await first.close();

    const second = await open(2, { keep: ({ step }) => step <= 1 });
    second.append({ step: 2, by: 'second' });
    await second.close();

    expect(await readJsonLines<Row>(path)).toEqual([{ step: 1 }, { step: 2, by: 'second' }]);
  });

  test('shuts the earlier attempt out', async () => {
    const first = await open(1);
    first.append({ step: 1 });

    const second = await open(2);
    first.append({ step: 2, by: 'first' });
    second.append({ step: 2, by: 'second' });

    expect(await readJsonLines<Row>(path)).toEqual([{ step: 1 }, { step: 2, by: 'second' }]);
    expect(
      thrownBy(() => {
        first.verify();
      }),
    ).toMatchObject({ code: 'superseded', retryable: false });
    await expect(open(1)).rejects.toMatchObject({ code: 'superseded' });
    await Promise.all([first.close(), second.close()]);
  });

  test('leaves one generation of the file and no temporary ones', async () => {
    for (const epoch of [1, 2, 10]) await (await open(epoch)).close();

    expect(readdirSync(folder).sort()).toEqual([
      '.metrics.jsonl.generation-10',
      'metrics.jsonl',
      'metrics.jsonl.lease',
    ]);
  });

  test('keeps rows which an attempt stuck in its takeover has renamed an old copy over', async () => {
    const journal = await open(2);
    journal.append({ step: 1 });
    writeFileSync(join(folder, 'stale'), '');
    renameSync(join(folder, 'stale'), path);
    await journal.close();

    const next = await open(3);

    expect(next.rows()).toEqual([{ step: 1 }]);
    await next.close();
    expect(await stepsInFile()).toEqual([1]);
  });
});

describe('a journal of steps', () => {
  const openSteps = (epoch: number, options: Partial<JournalSpec<Row>> = {}) =>
    openJournal<Row>({ path, epoch, keyOf: ({ step }) => step, remember: 1, ...options });
  const STEP_COUNT = 30_000;

  test('knows every step after a takeover and remembers one row', async () => {
    const first = await openSteps(1);
    for (let step = 1; step <= STEP_COUNT; step++) first.append({ step });
    await first.close();

    const second = await openSteps(2);

    expect(second.rows()).toEqual([{ step: STEP_COUNT }]);
    expect(second.append({ step: 1, by: 'second' })).toBe(false);
    expect(second.append({ step: STEP_COUNT, by: 'second' })).toBe(false);
    expect(second.append({ step: STEP_COUNT + 1 })).toBe(true);
    await second.close();
    expect(await stepsInFile()).toEqual(Array.from({ length: STEP_COUNT + 1 }, (_, index) => index + 1));
  });

  test('writes a step again that the disk lost in the middle', async () => {
    writeFileSync(path, '{"step":1}\n\u0000\u0000\n{"step":3}\n');
    const journal = await openSteps(1);

    expect([1, 2, 3, 4].map((step) => journal.append({ step }))).toEqual([false, true, false, true]);

    await journal.close();
    expect(await stepsInFile()).toEqual([1, 3, 2, 4]);
  });

  test('cuts what is not to be kept and goes on from there', async () => {
    const first = await openSteps(1);
    for (const step of [1, 2, 3]) first.append({ step });
    await first.close();

    const second = await openSteps(2, { keep: ({ step }) => step <= 1 });

    expect(second.last()).toEqual({ step: 1 });
    expect(second.append({ step: 2, by: 'second' })).toBe(true);
    await second.close();
  });

  test('puts back every row, also those it no longer remembers, when its file is displaced', async () => {
    const journal = await openSteps(1);
    for (const step of [1, 2, 3]) journal.append({ step });
    rmSync(path);

    journal.verify();
    journal.append({ step: 4 });
    await journal.close();

    expect(await stepsInFile()).toEqual([1, 2, 3, 4]);
  });

  test('is taken over by the later one of two that open it at once', async () => {
    writeFileSync(path, Array.from({ length: STEP_COUNT }, (_, index) => `{"step":${index + 1}}\n`).join(''));

    const [earlier, later] = await Promise.allSettled([openSteps(1), openSteps(2)]);

    expect(earlier).toMatchObject({ status: 'rejected', reason: { code: 'superseded' } });
    expect(later).toMatchObject({ status: 'fulfilled' });
    if (later.status !== 'fulfilled') return;
    later.value.append({ step: STEP_COUNT + 1 });
    await later.value.close();
    expect(await stepsInFile()).toHaveLength(STEP_COUNT + 1);
    expect(readdirSync(folder)).toHaveLength(3);
  });

  test('leaves no file behind when there is no room to take it over', async () => {
    writeFileSync(path, '{"step":1}\n');
    const full = () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    };

    await expect(openSteps(1, { keep: full })).rejects.toMatchObject({ code: 'store-full' });

    expect(readdirSync(folder).sort()).toEqual(['metrics.jsonl', 'metrics.jsonl.lease']);
  });
});

describe('a process that was stopped and comes back', () => {
  function startWriter(epoch: number, stop: 'append' | 'takeover') {
    const script = join(__dirname, 'journal-writer.js');
    const child = spawn(process.execPath, [script, path, String(epoch), stop], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return { child, lines: () => output.split('\n').filter(Boolean) };
  }

  async function untilStopped(pid: number): Promise<void> {
    for (;;) {
      const state = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0];
      if (state === 'T') return;
      if (state === 'Z') throw new Error('the process ended instead of stopping itself');
      await delay(20);
    }
  }

  test.each(['append', 'takeover'] as const)(
    'writes where nobody reads when stopped in its %s',
    async (stop) => {
      writeFileSync(path, '{"step":1}\n');
      const { child, lines } = startWriter(1, stop);
      await untilStopped(child.pid ?? 0);

      const successor = await open(2);
      successor.append({ step: 2, by: 'successor' });
      child.kill('SIGCONT');
      await once(child, 'exit');
      successor.append({ step: 3 });
      successor.verify();
      await successor.close();

      expect(lines().at(-1)).toBe('failed superseded');
      expect(lines()).not.toContain('verified');
      expect(await readJsonLines<Row>(path)).toEqual([
        { step: 1 },
        { step: 2, by: 'successor' },
        { step: 3 },
      ]);
    },
  );

  test('takes nothing from a successor that finished meanwhile', async () => {
    writeFileSync(path, '{"step":1}\n');
    const { child } = startWriter(1, 'takeover');
    await untilStopped(child.pid ?? 0);

    const successor = await open(2);
    successor.append({ step: 2, by: 'successor' });
    await successor.close();
    child.kill('SIGCONT');
    await once(child, 'exit');

    expect(await readJsonLines<Row>(path)).toEqual([{ step: 1 }, { step: 2, by: 'successor' }]);
  });
});

describe('a full disk', () => {
  function fullDisk(failures: number) {
    let left = failures;
    return (descriptor: number, bytes: Uint8Array): number => {
      if (left === 0) return writeSync(descriptor, bytes);
      left -= 1;
      writeSync(descriptor, bytes.subarray(0, 5));
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    };
  }

  test('leaves no half a row behind and says what to do', async () => {
    const journal = await open(1, { write: fullDisk(1) });

    const problem = thrownBy(() => journal.append({ step: 1 }));
    expect(problem).toMatchObject({ code: 'store-full', retryable: true });
    expect(problem).toHaveProperty('message', expect.stringContaining('Free some space'));
    expect(readFileSync(path, 'utf8')).toBe('');
    expect(journal.append({ step: 1 })).toBe(true);
    await journal.close();
    expect(await stepsInFile()).toEqual([1]);
  });

  test('is waited for, and said', async () => {
    const said: (string | null)[] = [];
    const journal = await open(1, { write: fullDisk(2), onWaiting: (reason) => said.push(reason) });

    await journal.appendWhenRoom({ step: 1 }, { retryMs: 5 });
    await journal.close();

    const why = expect.stringMatching(
      /^The store cannot be used at .*: no room is left \(ENOSPC\)\. Free/,
    ) as string;
    expect(said).toEqual([why, why, null]);
    expect(await stepsInFile()).toEqual([1]);
  });

  test('is not waited for after an abort', async () => {
    const journal = await open(1, { write: fullDisk(100) });

    const appended = journal.appendWhenRoom({ step: 1 }, { signal: AbortSignal.timeout(30), retryMs: 5 });

    await expect(appended).rejects.toMatchObject({ name: 'AbortError' });
    await journal.close();
  });

  test('writes the rest when the file system takes a part', async () => {
    const journal = await open(1, {
      write: (descriptor, bytes) => writeSync(descriptor, bytes.subarray(0, 4)),
    });

    journal.append({ step: 1 });
    await journal.close();

    expect(readFileSync(path, 'utf8')).toBe('{"step":1}\n');
  });
});

test('readers pass over a line that is being written', async () => {
  const journal = await open(1);
  journal.append({ step: 1 });
  appendFileSync(path, '{"step":2,"va');

  expect(await stepsInFile()).toEqual([1]);
  await journal.close();
});
