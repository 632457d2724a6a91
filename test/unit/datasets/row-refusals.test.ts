import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDataset } from '../../../src/datasets/load-dataset';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-refusals-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function load(
  row: object,
  reading: { readonly fields?: object; readonly ignoreKeys?: readonly string[] } = {},
) {
  const path = join(folder, 'rows.jsonl');
  writeFileSync(path, `${JSON.stringify(row)}\n`);
  return loadDataset({ path, ...reading, fields: { ...reading.fields } });
}

async function textsOf(loading: ReturnType<typeof load>) {
  const { rows } = await loading;
  return rows[0]?.messages.map(({ content }) => content);
}

const DOLLY = { input: 'context', output: 'response' };
const QUESTION = { prompt: 'question', completion: 'answer' };

test.each([
  [
    { instruction: 'a', context: 'b', category: 'c' },
    DOLLY,
    'field "response" (dataset.fields.output) is missing: the row has the fields instruction, context, category.',
  ],
  [
    { question: 'a', answer: 'b' },
    { prompt: 'nosuch', completion: 'answer' },
    'field "nosuch" (dataset.fields.prompt) is missing: the row has the fields question, answer.',
  ],
  [
    { question: 'a' },
    { prompt: 'completion', completion: 'prompt' },
    'field "completion" (dataset.fields.prompt) and "prompt" (dataset.fields.completion) are missing: the row has the fields question.',
  ],
  [{ context: 'b', response: 'c' }, DOLLY, '"instruction" and "response", got the fields context, response.'],
  [{ instruction: 'a', context: 'b', response: null }, DOLLY, 'field "response" is null'],
  [
    { instruction: 'a', contxt: 'b', response: 'c' },
    DOLLY,
    'unknown field "contxt". Did you mean "context"?',
  ],
  [
    { question: 'a', answer: 'b', mood: 'glad' },
    QUESTION,
    'unknown field "mood". Known here: question, answer, system,',
  ],
  [{ messages: [{ role: 'user', content: 'a' }], prompt: 'b' }, QUESTION, 'unknown field "prompt".'],
])('%j with the fields %j is refused by the names that it has', async (row, fields, reason) => {
  await expect(load(row, { fields })).rejects.toThrow(reason);
});

const chat = (answer: string) => [
  { role: 'user', content: 'q' },
  { role: 'assistant', content: answer },
];

test.each([
  [{ prompt: 'q', chosen: 'good', rejected: 'bad' }, { completion: 'chosen' }],
  [{ prompt: 'q', chosen: chat('good'), rejected: chat('bad') }, { messages: 'chosen' }],
  [
    { prompt: chat('q').slice(0, 1), chosen: chat('good').slice(1), rejected: chat('bad').slice(1) },
    { completion: 'chosen' },
  ],
])(
  'a preference pair is told from a row of no known shape, and its good reply trained on demand: %j',
  async (row, fields) => {
    const told = 'the row is a preference pair ("chosen" and "rejected"), which no run trains on';

    await expect(load(row)).rejects.toThrow(told);
    await expect(load(row)).rejects.toThrow(JSON.stringify(fields).replaceAll('"', '').replace(':', ': '));
    await expect(load(row, { fields })).rejects.toThrow(told);
    expect(await textsOf(load(row, { fields, ignoreKeys: ['rejected'] }))).toEqual(['q', 'good']);
  },
);

test.each([
  // UltraFeedback: the conversation stands there three times, with scores.
  [
    { prompt: 'q', messages: chat('good'), chosen: chat('good'), rejected: chat('bad'), score_chosen: 8 },
    { fields: { messages: 'chosen' }, ignoreKeys: ['rejected', 'messages'] },
    'set dataset.fields to {messages: chosen} and dataset.ignoreKeys to [rejected, messages].',
  ],
  // Orca's pairs.
  [
    { question: 'q', chosen: 'good', rejected: 'bad' },
    { fields: { prompt: 'question', completion: 'chosen' }, ignoreKeys: ['rejected'] },
    'set dataset.fields to {prompt: question, completion: chosen} and dataset.ignoreKeys to [rejected].',
  ],
])('what a pair of %j is told to set reads it', async (row, options, told) => {
  await expect(load(row)).rejects.toThrow(told);
  expect(await textsOf(load(row, options))).toEqual(['q', 'good']);
});

test('a pair of whole texts is told to be written as messages', async () => {
  const said = (answer: string) => `\n\nHuman: q\n\nAssistant: ${answer}`;

  await expect(load({ chosen: said('good'), rejected: said('bad') })).rejects.toThrow(
    'write each conversation as a list of messages under "messages"',
  );
});

test('a completion that begins with its prompt is refused', async () => {
  const row = { prompt: 'q', chosen: chat('good'), rejected: chat('bad') };
  const ignoreKeys = ['rejected'];

  await expect(load(row, { fields: { completion: 'chosen' }, ignoreKeys })).rejects.toThrow(
    'field "chosen": it begins with the prompt again',
  );
});

test('what says nothing is no part of a row’s shape either', async () => {
  const row = { messages: chat('other'), prompt: 'q', completion: 'good' };

  expect(await textsOf(load(row, { ignoreKeys: ['messages'] }))).toEqual(['q', 'good']);
});

test.each([true, false, 1, 'False'])(
  'a row that says whether its completion is wanted is refused: %j',
  async (label) => {
    const row = { prompt: 'q', completion: 'good', label };

    await expect(load(row)).rejects.toThrow(
      'field "label": the row says whether its completion is wanted (as for KTO), which no run trains on',
    );
    expect(await textsOf(load(row, { ignoreKeys: ['label'] }))).toEqual(['q', 'good']);
  },
);

test('a label that is a word is a field that nobody reads', async () => {
  await expect(load({ prompt: 'q', completion: 'good', label: 'letters' })).rejects.toThrow(
    'unknown field "label".',
  );
});

test('a field that nobody reads is refused however deep it is nested, and left out where bad rows are', async () => {
  const path = join(folder, 'deep.jsonl');
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  writeFileSync(path, `{"prompt":"q","completion":"good"}\n{"prompt":"q","completion":"bad","x":${deep}}\n`);

  await expect(loadDataset({ path })).rejects.toThrow(/deep\.jsonl line 2: unknown field "x"/);
  expect(await textsOf(loadDataset({ path, onBadRow: 'skip' }))).toEqual(['q', 'good']);
});

test('a history that a table holds as JSON text is read', async () => {
  const row = { instruction: 'q', output: 'good' };

  for (const history of [
    [['who?', 'Ada']],
    [
      { role: 'user', content: 'who?' },
      { role: 'assistant', content: 'Ada' },
    ],
  ])
    expect(await textsOf(load({ ...row, history: JSON.stringify(history) }))).toEqual([
      'who?',
      'Ada',
      'q',
      'good',
    ]);
  await expect(load({ ...row, history: 'words' })).rejects.toThrow(
    'field "history": expected a list, got text.',
  );
});

test('what a row holds cannot add lines to the message that refuses it', async () => {
  const forged = 'user\nTraining done: everything is well.';

  const [one, several] = [1, 2].map((count) => {
    const path = join(folder, `forged-${count}.jsonl`);
    const row = JSON.stringify({ messages: [{ role: forged, content: 'a' }] });
    writeFileSync(path, `${row}\n`.repeat(count));
    return loadDataset({ path, fields: {} });
  });

  await expect(one).rejects.toThrow(String.raw`got "user\x0aTraining done`);
  await expect(several).rejects.toThrow(String.raw`got "user\x0aTraining done`);
});

const nested = (depth: number) => `${'{"a":'.repeat(depth)}2.0${'}'.repeat(depth)}`;
const asked = [{ role: 'user', content: 'q' }];
const calling = (written: unknown) => ({
  messages: [
    ...asked,
    { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: written } }] },
  ],
});

test.each([
  [
    'tools[0].parameters',
    { messages: asked, tools: [{ name: 'f', parameters: JSON.parse(nested(1000)) as unknown }] },
  ],
  ['tools[0].parameters', { messages: asked, tools: `[{"name":"f","parameters":${nested(1000)}}]` }],
  ['messages[1].tool_calls[0].function.arguments', calling(nested(1000))],
  ['messages[1].tool_calls[0].function.arguments', calling(JSON.parse(nested(1000)))],
])('what is nested too deep to be written into a prompt is refused by name: %s', async (field, row) => {
  await expect(load(row)).rejects.toThrow(`field "${field}": lists and objects lie more than 100 deep`);
});
