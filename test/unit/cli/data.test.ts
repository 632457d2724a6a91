import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createCommand } from '../../../src/cli/commands/data';
import { createDatasetReader } from '../../../src/training/dataset-source';
import { prepareSupervisedData } from '../../../src/training/prepare-supervised-data';
import { PreparedData } from '../../../src/training/prepared-data';
import { parseTrainingConfig } from '../../../src/config/parse-training-config';
import { loadTokenizer } from '../../../src/renderers/tokenizers/load-tokenizer';
import { trainDataPath } from '../../../src/training/run-folder';
import { realModel, realModelsFolder } from '../renderers/real-models';

jest.mock('../../../src/renderers/tokenizers/load-tokenizer', () =>
  jest.requireActual<object>('../renderers/read-once'),
);

const QWEN3 = realModel('Qwen3-8B')?.folder ?? '';

let folder = '';
let stdout = '';
let stderr = '';

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-data-'));
  [stdout, stderr] = ['', ''];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
});

afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = 0;
  rmSync(folder, { recursive: true, force: true });
});

afterAll(() => {
  rmSync(realModelsFolder() ?? folder, { recursive: true, force: true });
});

const said = (question: string, answer: string) => ({
  messages: [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ],
});
const ROWS = [
  said('Hi', 'Ho'),
  { messages: [{ role: 'user', content: 7 }] },
  said('And?', 'And a rather longer answer, of many words, that has to be cut'),
  { messages: [{ role: 'user', content: 'Nobody answers' }] },
  said('Bye', 'Ciao'),
];

function written(rows: readonly unknown[], more: Readonly<Record<string, unknown>> = {}): string {
  const data = path.join(folder, 'rows.jsonl');
  writeFileSync(data, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const file = path.join(folder, 'run.json');
  const config = {
    kind: 'sft',
    model: QWEN3,
    renderer: 'qwen3',
    dataset: { path: 'rows.jsonl' },
    batchSize: 3,
  };
  writeFileSync(file, JSON.stringify({ ...config, ...more }));
  return file;
}

function show(...words: readonly string[]): Promise<unknown> {
  return createCommand()
    .exitOverride()
    .parseAsync(['show', ...words], { from: 'user' });
}

interface ShownLine {
  readonly row: string;
  readonly tokens: number[];
  readonly weights: number[];
  readonly text: string;
  readonly trained: string[];
  readonly cut: boolean;
  readonly refused?: string;
}

function shownLines(): ShownLine[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ShownLine);
}

test('shows rows in the order of the file, what is cut and what is refused, and counts them', async () => {
  await show(written(ROWS), '--set', 'maxLength=24', '--json');

  const [first, bad, cut, unanswered, last] = shownLines();
  const at = (line: number) => `${path.join(folder, 'rows.jsonl')}:${line}`;
  expect(first).toMatchObject({
    row: at(1),
    text: '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nHo<|im_end|>',
    trained: ['<think>\n\n</think>\n\nHo<|im_end|>'],
    cut: false,
  });
  expect(first?.weights).toHaveLength(first?.tokens.length ?? 0);
  expect(bad).toEqual({
    row: at(2),
    refused: 'field "messages[0].content": expected text, got number.',
  });
  expect(cut?.cut).toBe(true);
  expect(cut?.tokens).toHaveLength(24);
  expect(cut?.text).toContain('And a rather longer');
  expect(cut?.text).not.toContain('cut');
  expect(unanswered?.trained).toEqual([]);
  expect(last?.row).toBe(at(5));
  const tokens = [first, cut, unanswered, last].map((line) => line?.tokens.length ?? 0);
  const trained = [first, cut, last].map((line) => line?.weights.filter((weight) => weight > 0).length ?? 0);
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
  expect(stderr).toBe(
    `4 rows · ${sum(tokens)} tokens, ${sum(trained)} trained · longest 24 · 1 rows that train nothing · 1 cut · 1 refused · 1 of a ragged last batch, left out of each pass\n` +
      'train starts no run with this config: mend the row that is refused, or set dataset.onBadRow: skip, which leaves bad rows out.\n',
  );
});

test('says where replies are written without their reasoning', async () => {
  const reasoned = (answer: string, thought: string) => ({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: thought },
      { type: 'text', text: answer },
    ],
  });
  const user = (content: string) => ({ role: 'user', content });
  const rows = [
    { messages: [user('Hi'), reasoned('Ho', 'A greeting.'), user('Bye'), reasoned('Ciao', 'They leave.')] },
    { messages: [user('Hi'), reasoned('Ho', 'A greeting.')] },
  ];

  await show(written(rows));
  const told = stdout.split('\n').filter((line) => line.includes('rows.jsonl:'));

  expect(told[0]).toMatch(/rows\.jsonl:1 .* trained, 1 reply without reasoning$/);
  expect(told[1]).toMatch(/rows\.jsonl:2 .* trained$/);
  expect(stderr).toContain('In 1 of them replies are written without their reasoning');
});

test.each([
  ['rows that are refused', ROWS, [], 1],
  ['rows that are left out', ROWS, ['--set', 'dataset.onBadRow=skip'], 0],
  ['no row that trains', ROWS.slice(3, 4), [], 1],
  ['no row that can be read', ROWS.slice(1, 2), ['--set', 'dataset.onBadRow=skip'], 1],
])('its exit code says whether train would begin with %s', async (_, rows, words, code) => {
  await show(written(rows), ...words);

  expect(process.exitCode ?? 0).toBe(code);
  expect(stderr.includes('train starts no run with this config')).toBe(code === 1);
});

test('shows held-out rows and those of evaluators that a run would refuse, read or rendered, and exits 1', async () => {
  const other = (name: string, rows: readonly unknown[]) => {
    writeFileSync(path.join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return name;
  };
  const called = { id: 'a', name: 'f', arguments: '{}' };
  const marked = { messages: [{ role: 'ipython', content: '42', tool_calls: [called] }] };
  const testPath = other('held.jsonl', [ROWS[0], ROWS[1], marked]);
  const evaluators = [
    { type: 'nll', name: 'own', dataset: { path: other('own.jsonl', [ROWS[0], ROWS[1]]) } },
    { type: 'nll', name: 'lax', dataset: { path: other('lax.jsonl', [ROWS[1], ROWS[0]]), onBadRow: 'skip' } },
  ];
  const at = (place: string) => path.join(folder, place);
  const refused = 'field "messages[0].content": expected text, got number.';

  await show(written(ROWS.slice(0, 1), { dataset: { path: 'rows.jsonl', testPath }, evaluators }), '--json');

  expect(shownLines().slice(1)).toEqual([
    { row: at('held.jsonl:2'), refused: `held-out: ${refused}` },
    { row: at('held.jsonl:3'), refused: expect.stringMatching(/^held-out: (?!dataset)/) as string },
    { row: at('own.jsonl:2'), refused: `evaluators[0]: ${refused}` },
    { row: at('lax.jsonl:1'), refused: `evaluators[1]: ${refused}` },
  ]);
  expect(process.exitCode).toBe(1);
  expect(stderr).toContain(' 0 refused');
  expect(stderr).toContain('mend the 3 rows that are refused, or set onBadRow: skip of their dataset');
});

test('shows rows of an nll evaluator that the renderer refuses, and none that are long, and exits 1', async () => {
  const reasoning = {
    messages: [
      { role: 'user', content: '3+4=' },
      { role: 'assistant', content: '7', reasoning_content: 'hmm' },
    ],
  };
  const held = path.join(folder, 'held.jsonl');
  const rows = [said('3+5=', '8'), reasoning, said('Hi', 'ho '.repeat(500))];
  writeFileSync(held, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const evaluator = { type: 'nll', dataset: { path: held } };
  const evaluators = [
    { ...evaluator, name: 'strict' },
    { ...evaluator, name: 'lax', dataset: { path: held, onBadRow: 'skip' } },
  ];
  const refusal = expect.stringMatching(/^evaluators\[0\]: Renderer "everstep" writes text only/) as string;
  const leftOut = expect.stringMatching(/^evaluators\[1\]: Renderer "everstep" writes text only/) as string;

  const tiny = { model: 'everstep/tiny', renderer: 'everstep' };
  await show(written(ROWS.slice(0, 1), { ...tiny, evaluators }), '--json');

  expect(shownLines().slice(1)).toEqual([
    { row: `${held}:2`, refused: refusal },
    { row: `${held}:2`, refused: leftOut },
  ]);
  expect(process.exitCode).toBe(1);
});

test('shows what a run prepares, to the token and the weight, and counts the same', async () => {
  const rows = ROWS.filter((_, index) => index !== 1);
  const file = written(rows, { dataset: { path: 'rows.jsonl', testSize: 1 }, lossReduction: 'none' });
  await show(file, '--json');
  const dataset = { path: path.join(folder, 'rows.jsonl'), testSize: 1 };
  const config = parseTrainingConfig(
    { kind: 'sft', model: QWEN3, renderer: 'qwen3', dataset, batchSize: 3, lossReduction: 'none' },
    'test',
  );
  if (config.kind !== 'sft') throw new Error('not supervised');
  const tokenizer = await loadTokenizer({ folder: QWEN3 });

  const { data } = await prepareSupervisedData(
    {
      readDataset: createDatasetReader({ cacheFolder: folder }),
      tokenizerOf: () => Promise.resolve(tokenizer),
    },
    config,
    {
      ...{ folder, renderer: 'qwen3', contextLength: null, onProgress: () => undefined },
      signal: new AbortController().signal,
    },
  );

  const prepared = await PreparedData.load(trainDataPath(folder));
  const lines = shownLines();
  expect(lines).toHaveLength(3);
  expect(prepared.exampleCount).toBe(3);
  for (const [index, { tokens, weights }] of lines.entries()) {
    const { datum } = prepared.example(index);
    expect([...datum.tokens]).toEqual(tokens.slice(0, -1));
    expect([...datum.targetTokens]).toEqual(tokens.slice(1));
    expect([...(datum.lossInputs['weights'] ?? [])]).toEqual(weights.slice(1));
  }
  expect(data.summary).toMatchObject({ rows: 3, refusedRows: 0, raggedRows: 0 });
  expect(data.summary?.tokens).toBe(lines.flatMap(({ tokens }) => tokens).length);
});

test('marks what carries loss, shows the first rows only, and counts all', async () => {
  await show(written(ROWS), '--limit', '2');

  expect(stdout).toContain(`rows.jsonl:1 15 tokens, 6 trained\n<|im_start|>user\nHi<|im_end|>\n`);
  expect(stdout).toContain('assistant\n⟦<think>\n\n</think>\n\nHo<|im_end|>⟧');
  expect(stdout).toContain('rows.jsonl:2 refused: field "messages[0].content"');
  expect(stdout).not.toContain('rows.jsonl:3');
  expect(stdout).toContain('4 rows · ');
});

test('shows a dataset of which every row is refused, and a row that its renderer refuses', async () => {
  await show(written([ROWS[1]]), '--json');
  expect(shownLines()).toMatchObject([{ refused: expect.stringContaining('got number') as string }]);
  stdout = '';

  await show(written([ROWS[0]]), '--set', 'trainOnWhat=customized', '--json');
  expect(shownLines()).toMatchObject([{ refused: expect.stringContaining('trainable') as string }]);
});

test('lists a thousand bad rows, and counts the others', async () => {
  await show(written(Array.from({ length: 1003 }, () => ROWS[1])), '--json');

  expect(shownLines()).toHaveLength(1000);
  expect(shownLines().at(-1)?.refused).toContain('got number. (and 3 more bad rows behind it)');
  expect(stderr).toContain('1,003 refused');
  expect(stderr).toContain('mend the 1003 rows that are refused');
});

test('says nothing of bad rows that the run would leave out', async () => {
  await show(written(ROWS), '--set', 'dataset.onBadRow=skip', '--json');

  expect(stderr).toContain('1 refused');
  expect(stderr).not.toContain('starts no run');
});

test('gives chat_template what the config says', async () => {
  const given = ['--set', 'renderer=chat_template', '--set', 'templateArguments.enable_thinking=false'];

  await show(written([ROWS[0]]), ...given, '--json');

  expect(shownLines()[0]?.text).toContain('<think>\n\n</think>\n\nHo<|im_end|>');
  await expect(show(written([ROWS[0]]), given[2] ?? '', given[3] ?? '')).rejects.toThrow(
    'templateArguments: renderer "qwen3" has no template to give enable_thinking to.',
  );
});

test('shows the prompts of an environment', async () => {
  const file = path.join(folder, 'rl.json');
  const environment = { type: 'arithmetic', digits: 1 };
  writeFileSync(
    file,
    JSON.stringify({ kind: 'rl', model: QWEN3, renderer: 'qwen3', environment, groupsPerBatch: 3 }),
  );

  await show(file, '--json');

  const [first] = shownLines();
  expect(first?.row).toMatch(/^arithmetic.*:1$/);
  expect(first?.text).toMatch(/^<\|im_start\|>[^]*<\|im_start\|>assistant\n$/);
  expect(first?.trained).toEqual([]);
  expect(stderr).toMatch(/ rows · [\d,]+ tokens, 0 trained /);
});

test('names the rows of an environment by file and line, and what is left out and held out', async () => {
  const rows = path.join(folder, 'math.jsonl');
  const answers = ['7', 'proof', '8', '9'];
  writeFileSync(
    rows,
    answers.map((answer) => JSON.stringify({ problem: `Why ${answer}?`, answer })).join('\n'),
  );
  const environment = { type: 'math', path: rows, testSize: 1 };
  const file = path.join(folder, 'rl.json');
  writeFileSync(file, JSON.stringify({ kind: 'rl', model: QWEN3, renderer: 'qwen3', environment }));

  await show(file, '--json');

  const [leftOut, ...shown] = shownLines();
  expect(leftOut).toMatchObject({
    row: `${rows}:2`,
    refused: expect.stringMatching(/^left out: /) as string,
  });
  expect(shown).toHaveLength(2);
  for (const { row, text } of shown) {
    const [, line = ''] = /math\.jsonl:(\d)$/.exec(row) ?? [];
    expect(text).toContain(`Why ${answers[Number(line) - 1] ?? ''}?`);
  }
  expect(stderr).toContain(' · 1 refused · ');
  expect(stderr).toContain(' · 1 more held out as the test set');
});

test('names bad rows of an environment that a model judges, and prompts that cannot be written', async () => {
  const rows = path.join(folder, 'judged.jsonl');
  const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } };
  const reply = { role: 'assistant', content: 'Oh' };
  const called = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: '', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: 'A cat' },
    reply,
  ];
  const bad = [{ mesages: [] }, { messages: called }];
  writeFileSync(
    rows,
    [{ messages: [{ role: 'user', content: 'Hi' }, reply] }, ...bad]
      .map((row) => JSON.stringify(row))
      .join('\n'),
  );
  const judge = { model: 'judge', endpoint: 'http://127.0.0.1:9' };
  const environment = { type: 'modelGraded', testSize: 0, dataset: { path: rows }, judge };
  const file = path.join(folder, 'rl.json');
  writeFileSync(file, JSON.stringify({ kind: 'rl', model: QWEN3, renderer: 'role_colon', environment }));

  await show(file, '--json');

  const shown = new Map(shownLines().map((row) => [row.row, row.refused ?? row.text]));
  expect(shown.get(`${rows}:1`)).toContain('Hi');
  expect(shown.get(`${rows}:2`)).toMatch(/^no known shape/);
  expect(shown.get(`${rows}:3`)).toMatch(/tool/);
  expect(stderr).toContain('The prompt that cannot be written is met as the run goes on, which ends there');
  expect(stderr).toContain('mend the row that is refused, or set environment.dataset.onBadRow: skip');
  expect(process.exitCode).toBe(1);
});

test('shows the prompts of an environment that a model judges, without the judge', async () => {
  const rows = written([ROWS[0]]);
  const environment = {
    type: 'modelGraded',
    dataset: { path: path.join(path.dirname(rows), 'rows.jsonl') },
    judge: { model: 'judge', endpoint: 'http://127.0.0.1:9' },
  };
  const file = path.join(folder, 'rl.json');
  writeFileSync(file, JSON.stringify({ kind: 'rl', model: QWEN3, renderer: 'qwen3', environment }));

  await show(file, '--json');

  expect(shownLines().map(({ text, trained }) => [text, trained])).toEqual([
    ['<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n', []],
  ]);
});
