import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { requestsFor } from '../../../src/client/eval-requests';
import { parseBenchmarkConfig } from '../../../src/config/benchmark-config';
import {
  checkBenchmarkRequest,
  checkCanary,
  checkCell,
  checkColumn,
} from '../../../src/config/benchmark-requests';
import type { BenchmarkRequest, JudgeSource, ModelSource } from '../../../src/core/benchmark-run';

const ENDPOINT: ModelSource = {
  ...{ type: 'endpoint', url: 'http://127.0.0.1:8000/v1', api: 'chat', model: 'owner/Model 7B' },
};
const WEIGHTS: ModelSource = {
  ...{ type: 'engine', model: 'everstep/tiny', url: 'http://127.0.0.1:8000', profile: 'tinker' },
  ...{ path: 'tinker://a/sampler_weights/4', label: 'mine@4', identity: 'mine/4/0' },
  ...{ renderer: 'template', templateArguments: { enable_thinking: false } },
};
const BASE: ModelSource = { type: 'engine', model: 'everstep/tiny', path: null, label: null };
const JUDGE: JudgeSource = { model: ENDPOINT, temperature: 0, topP: 1, concurrency: 16, timeoutSeconds: 300 };
const VOTES: readonly JudgeSource[] = [JUDGE, { ...JUDGE, maxTokens: 9, vote: 1, isFresh: true }];
const EVERYTHING = {
  ...{ maxExamples: 3, numSamples: 10_000, concurrency: 4096, agentConcurrency: 1, temperature: 0, topP: 1 },
  ...{ maxTokens: 1, contextWindow: 2, timeoutSeconds: 604_800, systemPrompt: '', plugins: 'plugins.js' },
  ...{ startDate: '2026-01-01', endDate: '2026-02-01' },
  budget: { tokens: 5, dollars: 0.5, dollarsPerMillionTokens: 3 },
};

function requests(source: ModelSource, options: object = {}, judges?: readonly JudgeSource[]) {
  const config = parseBenchmarkConfig({ model: 'owner/Model 7B', ...options });
  const places = { store: '/store', dataFolder: 'data', answersFrom: 'before' };
  const benchmarks = ['mmlu-pro', 'inspect:inspect_evals/gsm8k?fewshot=5&model-role=grader=openai/gpt-4o'];
  return requestsFor(benchmarks, { config, source, ...(judges && { judges }) }, places);
}

test.each([
  ['an endpoint', requests(ENDPOINT)],
  ['weights', requests(WEIGHTS)],
  ['a base model', requests(BASE)],
  ['all options', requests(WEIGHTS, EVERYTHING, VOTES)],
])('takes what commands ask of %s', (_, asked) => {
  for (const request of asked) {
    expect(() => {
      checkBenchmarkRequest(request);
      checkBenchmarkRequest({ ...request, samplesFrom: '/store/evals/x', isRegrading: true });
    }).not.toThrow();
  }
});

test('takes fields of later releases, in every part', () => {
  const [request] = requests(WEIGHTS, EVERYTHING, VOTES);
  const later = { ofLater: 7 };
  const asked = {
    ...{ ...request, ...later },
    ...{ model: { ...WEIGHTS, ...later }, budget: { ...request?.budget, ...later } },
    ...{ judges: [{ ...JUDGE, ...later }], inspectTask: { task: 'x', args: {}, ...later } },
  };

  expect(() => {
    checkBenchmarkRequest(asked);
  }).not.toThrow();
});

test('refuses limits that no command takes', () => {
  const [request] = requests(ENDPOINT);
  const refusalOf = (changes: object) => () => {
    checkBenchmarkRequest({ ...request, ...changes });
  };

  expect(refusalOf({ budget: { dollars: 1 } })).toThrow('a limit in dollars needs a price');
  expect(refusalOf({ folder: '/a\0b' })).toThrow('folder: give an absolute path.');
  expect(refusalOf({ topP: 0, run: '..' })).toThrow('has 2 problems');
});

test('asks for nothing that the types leave open', () => {
  const least: BenchmarkRequest = {
    ...{ run: 'r', folder: '/f', benchmark: 'b', model: BASE },
    ...{ numSamples: 1, concurrency: 1, agentConcurrency: 1 },
  };

  expect(() => {
    checkBenchmarkRequest(least);
  }).not.toThrow();
});

describe('a canary', () => {
  const canary = {
    ...{ name: 'c', store: '/s', benchmarks: ['a'], deadlineSeconds: 60 },
    pin: { type: 'first' },
    band: { type: 'test', level: 0.99 },
  };

  test.each([
    ['pin', 7, 'pin is 7.'],
    ['pin', { type: 'scores' }, 'pin.scores is missing.'],
    ['pin', { type: 'scores', scores: { a: 'x' } }, 'pin.scores.a is "x". Give a number.'],
    ['band', {}, 'band.type is missing.'],
    ['band', { type: 'test', level: 1e300 }, 'band.level is 1e+300. Give a number below 1.'],
    ['band', { type: 'noise-floor', level: -1 }, 'band.level is -1. Give a number of at least 0.5.'],
    ['deadlineSeconds', 'x', 'deadlineSeconds is "x". Give a number.'],
    ['webhook', { url: 'http://127.0.0.1', headers: {} }, 'webhook.url is'],
    ['store', 'results', 'store: give an absolute path.'],
  ])('with %s %j is refused by its field', (field, value, problem) => {
    expect(() => {
      checkCanary({ ...canary, [field]: value });
    }).toThrow(problem);
  });

  test.each([
    {},
    { pin: { type: 'scores', scores: { a: -3 } } },
    { band: { type: 'noise-floor', level: 0.5 } },
  ])('as commands make it is taken: %j', (changes) => {
    expect(() => {
      checkCanary({ ...canary, ...changes });
    }).not.toThrow();
  });
});

const CHECKS: Readonly<Record<string, (input: unknown) => void>> = {
  planBenchmark: checkBenchmarkRequest,
  findCells: checkColumn,
  evaluateCell: checkCell,
  judgeFiring: (input) => {
    checkCanary(z.object({ request: z.unknown() }).parse(input).request);
  },
};
const Recorded = z.object({
  events: z.array(
    z.object({
      activityTaskScheduledEventAttributes: z
        .object({
          activityType: z.object({ name: z.string() }),
          input: z.object({ payloads: z.array(z.object({ data: z.string().optional() })) }).optional(),
        })
        .optional(),
    }),
  ),
});

function inputOf(data = ''): unknown {
  return JSON.parse(Buffer.from(data, 'base64').toString('utf8'));
}

test('takes what was asked for in recorded histories', () => {
  const folder = join(__dirname, '../../histories');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.json'),
  );
  const checked = new Set<string>();
  for (const file of files) {
    const { events } = Recorded.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
    for (const { activityTaskScheduledEventAttributes: scheduled } of events) {
      if (!scheduled || !Object.hasOwn(CHECKS, scheduled.activityType.name)) continue;
      const { name } = scheduled.activityType;
      CHECKS[name]?.(inputOf(scheduled.input?.payloads[0]?.data));
      checked.add(name);
    }
  }

  expect([...checked].sort()).toEqual(Object.keys(CHECKS).sort());
});
