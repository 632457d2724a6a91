import { SupervisedConfig } from '../../../src/config/supervised-config';
import {
  dataRemarks,
  heldOutRemarks,
  unreachedRemarks,
  warmUpRemark,
} from '../../../src/training/data-remarks';
import { checkHeldOut, prepareExamples } from '../../../src/training/prepare-examples';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { toConversation } from '../../../src/datasets/rows';
import { CharacterTokenizer } from '../renderers/character-tokenizer';

const tokenizer = new CharacterTokenizer();

const reply = (question: string, answer: string, fields: object = {}) => ({
  messages: [
    { role: 'user', content: question },
    { role: 'assistant', content: answer, ...fields },
  ],
});
const calling = reply('a', 'b', { tool_calls: [{ name: 'f', arguments: '{}' }] });

function configOf(changes: object = {}) {
  return SupervisedConfig.parse({
    kind: 'sft',
    model: 'everstep/tiny',
    renderer: 'llama3',
    batchSize: 4,
    learningRate: 1e-4,
    dataset: { path: 'rows.jsonl' },
    ...changes,
  });
}

const conversationsOf = (rows: readonly object[]) =>
  rows.map((row, index) => ({ ...toConversation(row), place: `rows.jsonl line ${index + 1}` }));

const contextOf = (config = configOf()) => ({
  ...{ config, tokenizer, contextLength: null, onProgress: () => undefined },
  renderer: findRenderer('llama3', tokenizer),
});

async function prepared(rows: readonly object[], config = configOf()) {
  return prepareExamples(conversationsOf(rows), contextOf(config));
}

const NO_SKIPPED = { skipped: [] };
const skipping = { dataset: { path: 'rows.jsonl', onBadRow: 'skip' } };

test('a row that the renderer refuses is named by file and line', async () => {
  await expect(prepared([reply('a', 'b'), calling])).rejects.toThrow(
    'dataset: example 2 (rows.jsonl line 2): messages[1]: renderer "llama3" does not write the call of tool "f".',
  );
});

test('such a row is left out and said where bad rows are skipped', async () => {
  const config = configOf(skipping);

  const result = await prepared([reply('a', 'b'), calling, reply('c', 'd')], config);

  expect(result.examples).toHaveLength(2);
  expect(dataRemarks(config, NO_SKIPPED, result)).toEqual([
    expect.stringMatching(
      /^1 row is left out \(onBadRow: skip\), the first, example 2 \(rows\.jsonl line 2\), because: messages\[1\]/,
    ),
  ]);
});

describe('a held-out row that the renderer refuses', () => {
  const rows = conversationsOf([reply('a', 'b'), calling]);

  test('is named by file and line', async () => {
    await expect(checkHeldOut(rows, contextOf())).rejects.toThrow(
      'dataset: held-out example 2 (rows.jsonl line 2): messages[1]: renderer "llama3" does not write',
    );
  });

  test('is left out and said where bad rows are skipped', async () => {
    const heldOut = await checkHeldOut(rows, contextOf(configOf(skipping)));

    expect(heldOut.rows).toEqual(rows.slice(0, 1));
    expect(heldOutRemarks(heldOut.refused)).toEqual([
      expect.stringMatching(
        /^1 row is left out of the held-out rows \(onBadRow: skip\), the first, held-out example 2 \(rows\.jsonl line 2\), because: messages\[1\]/,
      ),
    ]);
    expect(heldOutRemarks([])).toEqual([]);
  });
});

describe('a held-out row that is longer than the model reads', () => {
  const rows = conversationsOf([reply('a', 'b'), reply('a', 'b'.repeat(60))]);
  const heldOutOf = (changes: object = {}) =>
    checkHeldOut(rows, { ...contextOf(configOf(changes)), contextLength: 50 });

  test('is refused by file and line, as one that is trained on', async () => {
    await expect(heldOutOf()).rejects.toThrow(
      /^dataset: held-out example 2 \(rows\.jsonl line 2\) has \d+ tokens and the model reads 50\. Set maxLength: 50/,
    );
  });

  test('is left out with onBadRow: skip, and kept where maxLength allows cutting', async () => {
    const skipped = await heldOutOf(skipping);

    expect(skipped.rows).toEqual(rows.slice(0, 1));
    expect(skipped.refused).toEqual([
      {
        place: 'held-out example 2 (rows.jsonl line 2)',
        reason: expect.stringMatching(
          /^it has \d+ tokens and the model reads 50\. Set maxLength: 50/,
        ) as string,
      },
    ]);
    expect((await heldOutOf({ maxLength: 50 })).rows).toEqual(rows);
  });
});

test('rows of which all are refused are no dataset', async () => {
  await expect(prepared([calling, calling], configOf(skipping))).rejects.toThrow(
    'dataset: all 2 rows were left out, the first one, example 1 (rows.jsonl line 1), because:',
  );
});

test('rows whose whole loss is cut off, and rows without any, are named', async () => {
  const long = reply('a'.repeat(90), 'b');
  const config = configOf({ maxLength: 50 });

  const result = await prepared([reply('a', 'b'), long, reply('c', 'd', { weight: 0 })], config);

  expect(result.summary).toMatchObject({ cutRows: 1 });
  expect(dataRemarks(config, NO_SKIPPED, result)).toEqual([
    '1 row is trained in vain: maxLength 50 cuts off all tokens with loss of example 2 (rows.jsonl line 2). Raise maxLength, or shorten or remove them.',
    '1 row is trained in vain: with trainOnWhat "allAssistantMessages" no token carries loss of example 3 (rows.jsonl line 3).',
  ]);
});

test('rows with a reply that says nothing are named, unless it carries no loss', async () => {
  const rows = [
    reply('a', ''),
    reply('a', '', { weight: 0 }),
    reply('a', ' \n'),
    reply('a', 'b'),
    reply('a', '', { reasoning: 'c' }),
  ];
  const config = configOf({ batchSize: 1 });

  const result = await prepareExamples(conversationsOf(rows), {
    ...contextOf(config),
    renderer: findRenderer('qwen3', tokenizer),
  });

  expect(dataRemarks(config, NO_SKIPPED, { ...result, lossless: [] })).toEqual([
    '2 rows are trained to say nothing: only the end of an empty reply is trained in example 1 (rows.jsonl line 1), example 3 (rows.jsonl line 3). Give the reply words or weight: 0, or remove the row.',
  ]);
});

test('calls that Kimi writes by an id which does not name the tool are told', async () => {
  const call = (id?: string) =>
    reply('a', 'b', { tool_calls: [{ ...(id && { id }), name: 'f', arguments: '{}' }] });
  const rows = [call('call_1'), call('functions.f:0'), call()];
  const config = configOf({ batchSize: 1 });
  const remarks = async (renderer: string) => {
    const context = { ...contextOf(config), renderer: findRenderer(renderer, tokenizer) };
    return dataRemarks(config, NO_SKIPPED, await prepareExamples(conversationsOf(rows), context));
  };

  expect(await remarks('kimi_k2')).toEqual([
    expect.stringMatching(
      /^1 row is trained to call by ids alone: .* in example 1 \(rows\.jsonl line 1\)\. Leave/,
    ),
  ]);
  expect(await remarks('qwen3')).toEqual([]);
});

test('where all loss is cut off, maxLength is to blame', async () => {
  const long = reply('a'.repeat(90), 'b');

  await expect(prepared([long, long], configOf({ maxLength: 50 }))).rejects.toThrow(
    'dataset: maxLength 50 cuts off all tokens with loss of every example that has any (2 of 2). Raise maxLength.',
  );
  await expect(prepared([reply('a', 'b', { weight: 0 })])).rejects.toThrow(
    'dataset: no token of any example carries loss with trainOnWhat',
  );
});

test.each([
  [10, 4, ['2 rows are left over in each pass: 10 rows are 2 whole batches of 4']],
  [8, 4, []],
  [3, 4, []],
])('of %i rows in batches of %i the rest is said', async (count, batchSize, expected) => {
  const config = configOf({ batchSize });
  const result = await prepared(
    Array.from({ length: count }, () => reply('a', 'b')),
    config,
  );

  expect(dataRemarks(config, NO_SKIPPED, result)).toEqual(
    expected.map((text) => expect.stringContaining(text) as string),
  );
});

test('rows that were skipped when they were read are said too, and of many rows the first', async () => {
  const config = configOf(skipping);
  const result = await prepared(
    [reply('a', 'b'), ...Array.from({ length: 7 }, () => reply('c', 'd', { weight: 0 }))],
    config,
  );
  const skipped = [{ file: 'rows.jsonl', line: 9, reason: 'no known shape.' }];

  expect(dataRemarks(config, { skipped }, result)).toEqual([
    '1 row is left out (onBadRow: skip), the first, rows.jsonl line 9, because: no known shape.',
    expect.stringMatching(
      /^7 rows are trained in vain: .* example 2 .* example 6 \(rows.jsonl line 6\) and 2 more\.$/,
    ),
  ]);
});

test('a warm-up that outlasts the run is said, with the rate it ends at', () => {
  const config = configOf({ lrSchedule: { type: 'linear', warmupSteps: 40 } });

  expect(warmUpRemark(config, 40)).toEqual([]);
  expect(warmUpRemark(config, 10)).toEqual([
    'lrSchedule.warmupSteps is 40 and the run has 10 steps: the learning rate is still rising at its end, at 25 % of 0.0001.',
  ]);
});

test.each([
  [{ at: [30, 21] }, 21],
  [{ every: { steps: 25 } }, 25],
  [{ every: { steps: 5 }, offset: 40 }, 40],
  [{ at: [1000], every: { tokens: 5 } }, null],
  [{ at: [1000, 20] }, null],
  [{ at: [1000], atEnd: true }, null],
  [{ at: [1000], atStart: true }, null],
  [{}, null],
])('a schedule of steps that the run never reaches is said: %j', (rhythm, first) => {
  const never = { name: 'a', offset: 0, atStart: false, atEnd: false, evaluators: ['x'] };

  expect(unreachedRemarks([{ ...never, mode: 'blocking', ...rhythm }], 20)).toEqual(
    first === null
      ? []
      : [`schedules: "a" is first due at step ${first} and the run has 20 steps: it never measures.`],
  );
});
