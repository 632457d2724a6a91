import type { EvalHandle, EvalReport } from '../../../src/client/eval-handle';
import { NO_COUNTS } from '../../../src/core/benchmark-run';
import { followEval, progressText } from '../../../src/cli/commands/eval-follow';
import type { Session } from '../../../src/cli/connect';
import { recordOutput } from './recording-output';

const REPORT: EvalReport = { run: 'mine', dir: '/store/evals/mine', benchmarks: [], failures: [] };

interface Faked {
  readonly result: EvalHandle['result'];
  readonly progress?: EvalHandle['progress'];
  readonly waitingReasons?: EvalHandle['waitingReasons'];
  readonly settings?: EvalHandle['settings'];
}

function handleOf({ result, progress, waitingReasons, settings }: Faked): EvalHandle {
  const fake = {
    ...{ run: 'mine', folder: '/store/evals/mine', storedNames: [], result },
    progress: progress ?? (() => Promise.resolve([])),
    settings: settings ?? (() => Promise.resolve([])),
    waitingReasons: waitingReasons ?? (() => Promise.resolve([])),
  };
  return fake as unknown as EvalHandle;
}

const SESSION = { isEmbedded: false, everstep: { store: '/store' } } as unknown as Session;

function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

test('leaves only when its watchers have come back, whose connection is closed next', async () => {
  let openCount = 0;
  const ask = async <Value>(value: Value): Promise<Value> => {
    openCount++;
    await after(400);
    openCount--;
    return value;
  };
  const { output } = recordOutput({ terminal: true });
  const interrupt = new AbortController();
  const handle = handleOf({
    progress: () => ask([]),
    result: async () => {
      while (openCount === 0) await after(10);
      return null;
    },
  });

  const code = await followEval(handle, { session: SESSION, output, signal: interrupt.signal });

  expect(code).toBe(130);
  expect(openCount).toBe(0);
});

test('says every few seconds in a log that data is being read, and what is waited for', async () => {
  const { output, stderr } = recordOutput();
  let askCount = 0;
  const handle = handleOf({
    waitingReasons: () => Promise.resolve(['the training service http://127.0.0.1:9, since 10:00']),
    progress: () => {
      askCount++;
      return Promise.resolve([]);
    },
    result: async () => {
      while (askCount < 2) await after(50);
      return REPORT;
    },
  });

  await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(stderr()).toContain('mine: the data is being read');
  expect(stderr()).toContain('Waiting: the training service http://127.0.0.1:9, since 10:00');
});

const SUMMARY = {
  ...{ name: 'gsm8k', score: 0.5, stderr: 0.1, interval: null, scoreCompleted: 0.5, passAtK: {} },
  ...{ numExamples: 4, numCompleted: 4, numCorrect: 2, numErrors: 0, numTruncated: 0, timeSeconds: 1 },
};
const SETTINGS = {
  ...{
    name: 'gsm8k',
    temperature: 0.6,
    topP: 1,
    maxTokens: 512,
    numSamples: 1,
    taken: null,
    sampleCount: 1,
    concurrency: 64,
  },
};

test('says once what is asked with, and in the end where the wrong answers are', async () => {
  const { output, stderr } = recordOutput();
  const handle = handleOf({
    settings: () => Promise.resolve([SETTINGS]),
    result: () => Promise.resolve({ ...REPORT, benchmarks: [SUMMARY] }),
  });

  await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(stderr().split('gsm8k: temperature 0.6, at most 512 tokens, 64 requests in flight')).toHaveLength(2);
  expect(stderr()).toContain('Next: npx everstep results trajectories mine gsm8k --incorrect\n');
});

test('counts right answers only where answers are right or wrong', async () => {
  const { output, stdout } = recordOutput();
  const draws = {
    ...SUMMARY,
    name: 'arena_hard',
    score: 0.5,
    numExamples: 2,
    numCompleted: 2,
    numCorrect: 2,
  };
  const handle = handleOf({ result: () => Promise.resolve({ ...REPORT, benchmarks: [SUMMARY, draws] }) });

  await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  const cellsOf = (name: string) =>
    stdout()
      .split('\n')
      .find((line) => line.includes(name))
      ?.trim()
      .split(/\s{2,}/);
  expect(cellsOf('gsm8k')?.[4]).toBe('2');
  expect(cellsOf('arena_hard')?.[4]).toBe('–');
});

test('tells verdicts that could not be read beside the score of the others', async () => {
  const { output, stdout, stderr } = recordOutput();
  const judged = { ...SUMMARY, score: 2 / 3, numUnparsed: 1 };
  const handle = handleOf({ result: () => Promise.resolve({ ...REPORT, benchmarks: [judged] }) });

  await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(stderr()).toContain(
    'gsm8k: 1 verdict could not be read; the score is of the other 3 samples: the mean over questions of the mean of theirs.\n',
  );
  expect(stdout()).toMatch(/gsm8k +0\.6667 +0\.5 +4 +2 /);
});

test('says of several samples that the score is a mean over questions, and counts what is right', async () => {
  const { output, stdout, stderr } = recordOutput();
  // Of 2 questions, asked twice, one has both samples judged right, the other one of one wrong.
  const judged = { ...SUMMARY, score: 0.5, numCorrect: 2, numUnparsed: 1, passAtK: { 1: 0.5, 2: 1 } };
  const handle = handleOf({ result: () => Promise.resolve({ ...REPORT, benchmarks: [judged] }) });

  await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(stderr()).toContain(
    'gsm8k: 1 verdict could not be read; the score is of the other 3 samples: the mean over questions of the mean of theirs.\n',
  );
  expect(stdout()).toMatch(/gsm8k +0\.5, pass@2 1 .* 4 +2 /);
});

test('tells of answers that were cut off and shown to no judge', async () => {
  const { output, stderr } = recordOutput();
  const unjudged = '4 of 4 answers were cut off at maxTokens 16 and count 0: no judge was asked';
  const benchmarks = [{ ...SUMMARY, unjudged }];
  const handle = handleOf({ result: () => Promise.resolve({ ...REPORT, benchmarks }) });

  await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(stderr()).toContain(`gsm8k: ${unjudged}.\n`);
});

test('the line of an evaluation under way tells them, too', () => {
  const counts = { ...NO_COUNTS, name: 'lets', total: 10, done: 10, unreadCount: 2 };

  expect(progressText({ ...counts, score: 0.125, interval: null, maxExamples: null })).toBe(
    'lets 10/10, so far 0.125, 2 verdicts could not be read',
  );
});

test('an evaluation that was called off did not fail', async () => {
  const { output, stderr } = recordOutput();
  const message = 'cancelled by 12@host. What was answered is kept: the same command goes on from there.';
  const failures = [{ name: 'gsm8k', code: null, message, isCancelled: true as const }];
  const handle = handleOf({ result: () => Promise.resolve({ ...REPORT, failures }) });

  const code = await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(code).toBe(1);
  expect(stderr()).toContain(`gsm8k was ${message}`);
  expect(stderr()).not.toContain('failed');
});

test('a budget that is used up is a pause, which says how to go on', async () => {
  const { output, stderr } = recordOutput();
  const message = 'the next answer would not fit its budget: 5 of 5 requests used';
  const failures = [{ name: 'gsm8k', code: 'over-budget', message }];
  const handle = handleOf({ result: () => Promise.resolve({ ...REPORT, failures }) });

  const code = await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(code).toBe(1);
  expect(stderr()).toContain(
    `gsm8k is paused: ${message}. What is answered is stored: the same command with a higher --budget goes on from there.`,
  );
});

test('a benchmark that is done says that it passed its budget', async () => {
  const { output, stderr } = recordOutput();
  const overBudget = 'its budget is passed by 4020 tokens: 10020 of 6000 tokens used';
  const benchmarks = [{ ...SUMMARY, overBudget }];
  const handle = handleOf({ result: () => Promise.resolve({ ...REPORT, benchmarks }) });

  const code = await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(code).toBe(0);
  expect(stderr()).toContain(`gsm8k is done, but ${overBudget}.\n`);
});

test('says on leaving how the evaluation is called off', async () => {
  const { output, stderr } = recordOutput();
  const handle = handleOf({ result: () => Promise.resolve(null) });

  await followEval(handle, { session: SESSION, output, signal: new AbortController().signal });

  expect(stderr()).toContain('`npx everstep results cancel mine` calls it off.');
});
