import type { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { EvaluatorConfig as EvaluatorSchema } from '../../../src/config/evaluation-config';
import type { SampleRequest, Sampler } from '../../../src/core/sampling';
import { evaluateCell } from '../../../src/evaluation/evaluate-cell';
import type { Supervision } from '../../../src/evaluation/evaluators/evaluation-context';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { dependenciesOf, tokenizer, workOf } from './measured-model';

const ROWS = [
  {
    id: 'a',
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'ab' },
    ],
  },
  {
    id: 'b',
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: '日' },
    ],
  },
];

function nll(options: object = {}): EvaluatorConfig {
  return EvaluatorSchema.parse({ type: 'nll', name: 'test', dataset: { path: 'rows.jsonl' }, ...options });
}

/** Every ASCII token has log-probability −1, every other character −2, special tokens −4. */
function measuringModel() {
  const requests: SampleRequest[] = [];
  const sampler: Sampler = {
    async sample(request) {
      requests.push(request);
      const promptLogprobs = request.prompt.map((token, index) => {
        if (index === 0) return null;
        if (tokenizer.isSpecial(token)) return -4;
        return token < 128 ? -1 : -2;
      });
      return { sequences: [{ tokens: [0], logprobs: null, stopReason: 'length' }], promptLogprobs };
    },
  };
  return { sampler, requests };
}

test('weighs each example the same, as training does', async () => {
  const { sampler } = measuringModel();

  const scores = await evaluateCell(dependenciesOf(sampler, { rows: ROWS }), {
    ...workOf({ name: 'test' }),
    evaluator: nll(),
  });

  // Replies are "ab<|end|>" (−1, −1, −4) and "日<|end|>" (−2, −4); their means are 2 and 3. Bytes: 2 and 3.
  const [loss, bits] = scores;
  expect(loss).toEqual({
    metric: 'nll',
    key: 'test/nll',
    value: expect.closeTo(2.5, 6) as number,
    stderr: expect.closeTo(0.5, 6) as number,
    n: 2,
    higherIsBetter: false,
    // 2.5 · e^(± 1.96 · 0.5 ÷ 2.5)
    ci: [expect.closeTo(1.6893, 4) as number, expect.closeTo(3.6998, 4) as number],
    data: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
  });
  expect(bits).toMatchObject({
    metric: 'bpb',
    key: 'test/bpb',
    value: expect.closeTo(4 / (Math.LN2 * 5), 6) as number,
    n: 2,
  });
});

describe('a row that the renderer refuses', () => {
  const renderer = findRenderer('llama3', tokenizer);
  const calling = {
    id: 'c',
    place: 'rows.jsonl line 3',
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'x', toolCalls: [{ name: 'f', arguments: '{}' }] },
    ],
  };
  const evaluated = (
    evaluator: EvaluatorConfig,
    rows: readonly (typeof calling | (typeof ROWS)[number])[],
  ) => {
    const { sampler } = measuringModel();
    return evaluateCell(
      { ...dependenciesOf(sampler, { rows }), renderer },
      { ...workOf({ name: 'test' }), evaluator },
    );
  };

  test('is an error that names it', async () => {
    await expect(evaluated(nll(), [...ROWS, calling])).rejects.toThrow('rows.jsonl line 3: messages[1]');
  });

  test('is left out and said with onBadRow: skip', async () => {
    const skipping = nll({ dataset: { path: 'rows.jsonl', onBadRow: 'skip' } });

    const [loss] = await evaluated(skipping, [...ROWS, calling]);
    const [without] = await evaluated(nll(), ROWS);

    expect(loss?.data).not.toBe(without?.data);
    expect(loss).toEqual({
      ...without,
      data: loss?.data,
      remark: expect.stringMatching(
        /^1 of 3 rows were left out \(onBadRow: skip\), one of them because: rows\.jsonl line 3: messages\[1\]/,
      ) as string,
    });
  });
});

test('weighs each token the same where training does', async () => {
  const { sampler } = measuringModel();
  const supervision = { trainOnWhat: 'allAssistantMessages', lossReduction: 'none' } as const;

  const [loss] = await evaluateCell(dependenciesOf(sampler, { rows: ROWS, supervision }), {
    ...workOf({ name: 'test' }),
    evaluator: nll(),
  });

  expect(loss?.value).toBeCloseTo(12 / 5, 6);
});

test('asks for the log-probs of the whole conversation and draws one token', async () => {
  const { sampler, requests } = measuringModel();

  await evaluateCell(dependenciesOf(sampler, { rows: ROWS.slice(0, 1) }), { ...workOf(), evaluator: nll() });

  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({ promptLogprobs: true, numSamples: 1, params: { maxTokens: 1 } });
  expect(tokenizer.decode(requests[0]?.prompt ?? [])).toMatch(/hi.*ab<\|end\|>$/s);
});

test('names its metrics, so that several can run', async () => {
  const { sampler } = measuringModel();

  const scores = await evaluateCell(dependenciesOf(sampler, { rows: ROWS }), {
    ...workOf({ name: 'validation' }),
    evaluator: nll({ name: 'validation' }),
  });

  expect(scores.map(({ key }) => key)).toEqual(['validation/nll', 'validation/bpb']);
});

test('says null where nothing carries weight, and asks nothing', async () => {
  const { sampler, requests } = measuringModel();
  const rows = [{ id: 'a', messages: [{ role: 'user', content: 'hi' }] }];

  const scores = await evaluateCell(dependenciesOf(sampler, { rows }), {
    ...workOf({ name: 'test' }),
    evaluator: nll(),
  });

  expect(scores.map(({ value, stderr, n }) => [value, stderr, n])).toEqual([
    [null, null, 0],
    [null, null, 0],
  ]);
  expect(requests).toHaveLength(0);
});

describe('a row that is longer than the model reads', () => {
  const long = (id: string, question: string, answer: string) => ({
    id,
    place: `rows.jsonl line ${id}`,
    messages: [
      { role: 'user', content: question },
      { role: 'assistant', content: answer },
    ],
  });
  const rows = [...ROWS, long('3', 'q'.repeat(40), 'a'), long('4', 'q', 'a'.repeat(40))];
  const evaluated = async (evaluator: EvaluatorConfig, maxLength?: number) => {
    const { sampler, requests } = measuringModel();
    const supervision: Supervision = {
      trainOnWhat: 'allAssistantMessages',
      lossReduction: 'mean',
      ...(maxLength !== undefined && { maxLength }),
    };
    const dependencies = dependenciesOf(sampler, { rows, contextLength: 30, supervision });
    const scores = await evaluateCell(dependencies, { ...workOf(), evaluator });
    return { scores, requests };
  };

  test('is an error that names it', async () => {
    await expect(evaluated(nll())).rejects.toThrow(
      /^rows\.jsonl line 3: it has \d+ tokens and the model reads 30\. .*maxLength: 30/,
    );
  });

  test('is left out and said with onBadRow: skip', async () => {
    const { scores } = await evaluated(nll({ dataset: { path: 'rows.jsonl', onBadRow: 'skip' } }));

    expect(scores[0]).toMatchObject({
      n: 2,
      remark: expect.stringMatching(
        /^2 of 4 rows were left out \(onBadRow: skip\), one of them because: rows\.jsonl line 3: it has/,
      ) as string,
    });
  });

  test('is cut where maxLength allows it, and the score says what that left', async () => {
    const { scores, requests } = await evaluated(nll(), 25);

    expect(requests.map(({ prompt }) => prompt.length).every((length) => length <= 25)).toBe(true);
    expect(scores.map(({ n, remark }) => [n, remark])).toEqual(
      Array(2).fill([
        3,
        '2 of 4 rows were cut at maxLength 25, 1 of them before all that has loss: these measure nothing',
      ]),
    );
  });
});

test('rows without a token of loss are told, and those whose reply has no words', async () => {
  const { sampler } = measuringModel();
  const asked = { role: 'user', content: 'hi' };
  const rows = [
    ...ROWS,
    { id: 'c', messages: [asked] },
    { id: 'd', messages: [asked, { role: 'assistant', content: 'x', trainable: false }] },
    { id: 'e', messages: [asked, { role: 'assistant', content: '' }] },
  ];

  const scores = await evaluateCell(dependenciesOf(sampler, { rows }), { ...workOf(), evaluator: nll() });

  const remark =
    '2 of 5 rows measure nothing: no token has loss (no reply, or weight 0); ' +
    '1 of 5 rows have loss on the end of a reply alone (it is empty, or cut before its words) and count in no bpb';
  expect(scores.map((score) => [score.n, score.remark])).toEqual([
    [3, remark],
    [2, remark],
  ]);
});

test('measures only what is missing after a crash', async () => {
  const { sampler, requests } = measuringModel();
  const failing: Sampler = {
    sample: (request) =>
      requests.length === 1 ? Promise.reject(new Error('killed')) : sampler.sample(request),
  };
  const work = workOf();
  const evaluator = nll({ concurrency: 1 });
  await expect(evaluateCell(dependenciesOf(failing, { rows: ROWS }), { ...work, evaluator })).rejects.toThrow(
    'killed',
  );

  await evaluateCell(dependenciesOf(sampler, { rows: ROWS }), { ...work, epoch: 2, evaluator });

  expect(requests).toHaveLength(2);
});

test('refuses an engine that gives no prompt log-probs', async () => {
  const sampler: Sampler = { sample: async () => ({ sequences: [], promptLogprobs: null }) };

  const evaluated = evaluateCell(dependenciesOf(sampler, { rows: ROWS }), { ...workOf(), evaluator: nll() });

  await expect(evaluated).rejects.toMatchObject({ code: 'protocol-error' });
});

test('measures a seeded choice of the examples', async () => {
  const { sampler, requests } = measuringModel();
  const rows = Array.from({ length: 10 }, (_, index) => ({
    id: String(index),
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: String(index) },
    ],
  }));

  const [loss] = await evaluateCell(dependenciesOf(sampler, { rows }), {
    ...workOf(),
    evaluator: nll({ maxExamples: 4 }),
  });

  expect(loss?.n).toBe(4);
  expect(new Set(requests.map(({ prompt }) => tokenizer.decode(prompt))).size).toBe(4);
});
