import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countListed } from '../../../src/core/bad-row-list';
import { DomainError } from '../../../src/core/errors';
import { loadDataset } from '../../../src/datasets/load-dataset';
import { readEachRow } from '../../../src/datasets/read-each-row';
import { readRows } from '../../../src/datasets/read-rows';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everstep-datasets-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

const lines = (...rows: unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const row = (question: string) => ({ prompt: question, completion: 'yes' });
const conversation = [
  { role: 'user', content: '2+2?' },
  { role: 'assistant', content: '4' },
];

test.each([
  ['messages', { messages: conversation, source: 'any' }],
  ['prompt and completion texts', { prompt: '2+2?', completion: '4' }],
  ['prompt and completion lists', { prompt: [conversation[0]], completion: [conversation[1]] }],
  ['Alpaca without input', { instruction: '2+2?', input: '', output: '4' }],
  ['Alpaca without instruction', { instruction: '', input: '2+2?', output: '4' }],
  [
    'ShareGPT',
    {
      conversations: [
        { from: 'human', value: '2+2?' },
        { from: 'gpt', value: '4' },
      ],
    },
  ],
])('reads the shape %s into the same conversation with the same id', async (_, shape) => {
  const path = await file('rows.jsonl', lines(shape));
  const plain = await file('plain.jsonl', lines({ messages: conversation }));

  const { rows } = await loadDataset({ path });

  expect(rows[0]?.messages).toEqual(conversation);
  expect(rows[0]?.id).toBe((await loadDataset({ path: plain })).rows[0]?.id);
});

const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const weather = { name: 'weather', description: 'Weather', parameters };

test.each([
  ['nested as OpenAI has them', [{ type: 'function', function: weather }]],
  ['flat', [weather]],
  ['as JSON text', JSON.stringify([{ type: 'function', function: weather }])],
])('reads tools, %s, and tells such conversations from those without', async (_, tools) => {
  const path = await file('rows.jsonl', lines({ messages: conversation, tools }, { messages: conversation }));

  const { rows } = await loadDataset({ path });

  expect(rows.map((row) => row.tools)).toEqual([[weather], undefined]);
  expect(rows[0]?.id).not.toBe(rows[1]?.id);
});

test('takes tools without description and parameters as they are, and none where the list is empty', async () => {
  const path = await file(
    'rows.jsonl',
    lines(
      { messages: conversation, tools: [{ name: 'now' }] },
      { messages: conversation, tools: [] },
      { messages: conversation, tools: null },
    ),
  );

  const { rows } = await loadDataset({ path });

  expect(rows.map((row) => row.tools)).toEqual([[{ name: 'now' }], undefined, undefined]);
});

test.each([
  [{ tools: {} }, 'field "tools": expected a list, got an object.'],
  [{ tools: '[{' }, 'field "tools": expected a list, got text that is not valid JSON.'],
  [{ tools: [7] }, 'field "tools[0]": expected an object, got number.'],
  [{ tools: [{ function: {} }] }, 'field "tools[0].function.name": expected text, got nothing.'],
  [
    { tools: [{ name: 'a', parameters: [] }] },
    'field "tools[0].parameters": expected an object, got a list.',
  ],
])('refuses the tools %j', async (fields, problem) => {
  const path = await file('rows.jsonl', lines({ messages: conversation, ...fields }));

  await expect(loadDataset({ path })).rejects.toThrow(`rows.jsonl line 1: ${problem}`);
});

test('keeps an Alpaca input and system prompts', async () => {
  const path = await file(
    'rows.jsonl',
    lines(
      { system: 'S', instruction: 'Sum', input: '1 2', output: '3' },
      { system: 'T', conversations: [{ from: 'user', value: 'a' }] },
    ),
  );

  const { rows } = await loadDataset({ path });

  expect(rows[0]?.messages).toEqual([
    { role: 'system', content: 'S' },
    { role: 'user', content: 'Sum\n\n1 2' },
    { role: 'assistant', content: '3' },
  ]);
  expect(rows[1]?.messages.map((message) => message.role)).toEqual(['system', 'user']);
});

test('reads tool calls, reasoning, parts and trainable marks', async () => {
  const path = await file(
    'rows.jsonl',
    lines({
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'weather?' }], trainable: false },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
            { name: 'other', arguments: { a: 1 } },
          ],
        },
        { role: 'tool', content: '20', tool_call_id: 'c1', name: 'get_weather' },
        { role: 'assistant', content: '20C', reasoning_content: 'hm', trainable: true },
      ],
    }),
  );

  const { rows } = await loadDataset({ path });

  expect(rows[0]?.messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'weather?' }], trainable: false },
    {
      role: 'assistant',
      content: '',
      toolCalls: [
        { id: 'c1', name: 'get_weather', arguments: '{"city":"Paris"}' },
        { name: 'other', arguments: '{"a":1}' },
      ],
    },
    { role: 'tool', content: '20', toolCallId: 'c1', name: 'get_weather' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: '20C' },
      ],
      trainable: true,
    },
  ]);
});

test.each([
  [
    {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 3 },
      ],
    },
    'field "messages[1].content": expected text, got number.',
  ],
  [{ messages: [{ content: 'a' }] }, 'field "messages[0].role": expected text, got nothing.'],
  [{ messages: [{ role: '', content: 'a' }] }, 'field "messages[0].role": expected human,'],
  [{ messages: 'hello' }, 'field "messages": expected a list of messages, got text.'],
  [{ messages: [] }, 'the conversation has no messages.'],
  [{ messages: [null] }, 'field "messages[0]": expected an object, got null.'],
  [
    { messages: [{ role: 'user', content: 'a', trainable: 'yes' }] },
    'field "messages[0].trainable": expected true or false, got text.',
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'image' }] }] },
    'field "messages[0].content[0].type": expected text or thinking, got "image".',
  ],
  [{ conversations: [{ from: 'alien', value: 'a' }] }, 'field "conversations[0].from": expected human,'],
  [{ prompt: 1, completion: 'a' }, 'field "prompt": expected text or a list of messages, got number.'],
  [{ instruction: 'a', output: ['b'] }, 'field "output": expected text, got a list.'],
  [{ text: 'a' }, 'no known shape'],
  [{ messages: null }, 'field "messages" is null'],
  [{ prompt: 'a', completion: null }, 'field "completion" is null'],
  [['a'], 'expected an object, got a list.'],
])('names file, line and field of the bad row %j', async (bad, reason) => {
  const path = await file('rows.jsonl', lines(row('a'), bad));

  const loading = loadDataset({ path });

  await expect(loading).rejects.toMatchObject({ code: 'bad-dataset' });
  await expect(loading).rejects.toThrow(`${path} line 2: ${reason}`);
});

describe('fields of other names', () => {
  const load = async (fields: Readonly<Record<string, string>>, ...rows: readonly unknown[]) =>
    loadDataset({ path: await file('rows.jsonl', lines(...rows)), fields });

  test('are read as what the config says they are', async () => {
    const dolly = { instruction: 'Sum up.', context: 'Long.', response: 'Short.', category: 'summary' };
    const asked = { question: '7*6?', answer: '42', prompt: null, system: '' };

    const summed = await load({ input: 'context', output: 'response' }, dolly);
    const answered = await load({ prompt: 'question', completion: 'answer' }, asked);
    const turned = await load(
      { prompt: 'completion', completion: 'prompt' },
      { completion: 'a', prompt: 'b' },
    );

    expect(summed.rows[0]?.messages.map(({ content }) => content)).toEqual(['Sum up.\n\nLong.', 'Short.']);
    expect(answered.rows[0]?.messages.map(({ content }) => content)).toEqual(['7*6?', '42']);
    expect(turned.rows[0]?.messages.map(({ content }) => content)).toEqual(['a', 'b']);
  });

  test.each([
    [{ question: 'a', answer: 7 }, 'field "answer": expected text or a list of messages, got number.'],
    [
      { question: 'a', reply: 'b' },
      'field "answer" (dataset.fields.completion) is missing: the row has the fields question, reply. If',
    ],
    [
      { question: 'a', answer: 'b', prompt: 'c' },
      'the row has "prompt" and "question", which dataset.fields reads as "prompt".',
    ],
    [{ question: 'a', answer: [{ role: 'alien', content: 'b' }] }, 'field "answer[0].role": expected human,'],
  ])('are named in what is wrong with them: %j', async (bad, reason) => {
    await expect(load({ prompt: 'question', completion: 'answer' }, bad)).rejects.toThrow(reason);
  });
});

test('names the first five bad rows of a file, and how many there are of how many', async () => {
  const bad = Array.from({ length: 7 }, () => ({ text: 'x' }));
  const path = await file('rows.jsonl', `${lines(row('a'))}{broken\n${lines(...bad.slice(1), row('b'))}`);

  const loading = loadDataset({ path: [path, await file('more.jsonl', '{broken\n')] });

  await expect(loading).rejects.toMatchObject({ code: 'bad-dataset' });
  await expect(loading).rejects.toThrow(`${path} has 7 bad rows of 9:\n  - line 2: not valid JSON`);
  await expect(loading).rejects.toThrow(
    /\n {2}- line 3: no known shape.*\n(?: {2}- line [456]: .*\n){3} {2}- and 2 more/,
  );
  await expect(loading).rejects.toThrow(
    /more, which `npx everstep data show CONFIG` names\nCorrect the rows, or set/,
  );
});

test('leaves bad rows out and lists them when asked to', async () => {
  const path = await file('rows.jsonl', `${lines(row('a'), { text: 'x' })}{broken\n${lines(row('b'))}`);

  const { rows, skipped } = await loadDataset({ path, onBadRow: 'skip' });

  expect(rows.map(({ messages }) => messages[0]?.content)).toEqual(['a', 'b']);
  expect(skipped.map(({ file: name, line }) => [name, line])).toEqual([
    [path, 2],
    [path, 3],
  ]);
  expect(skipped[1]?.reason).toContain('not valid JSON');
});

test('reads a file no further once it has a thousand bad rows', async () => {
  const bad = lines(...Array.from({ length: 1000 }, () => ({ text: 'x' })));
  // Whoever reads on is told of the last line.
  const path = await file('rows.jsonl', `${lines(row('a'))}${bad}{\n`);

  const loading = loadDataset({ path });

  await expect(loading).rejects.toThrow(
    `${path} has at least 1000 bad rows among its first 1001:\n  - line 2:`,
  );
  await expect(readRows({ path, listsUnread: true })).rejects.toThrow('over several lines');
});

test('lists a thousand of the bad rows that it leaves out, and counts the others', async () => {
  const bad = lines(...Array.from({ length: 750 }, () => ({ text: 'x' })));
  const path = [await file('one.jsonl', `${lines(row('a'))}${bad}`), await file('two.jsonl', bad)];

  const { rows, skipped } = await loadDataset({ path, onBadRow: 'skip' });

  expect(rows).toHaveLength(1);
  expect(skipped).toHaveLength(1000);
  expect(skipped.at(-1)).toMatchObject({ file: path[1], line: 250, others: 500 });
  expect(countListed(skipped)).toBe(1500);
  await expect(loadDataset({ path: path.slice(1), onBadRow: 'skip' })).rejects.toThrow('all 750 rows');
});

test('of rows that are no objects a thousand are listed, of others that are refused as many looked at', async () => {
  const path = await file('rows.jsonl', `${'7\n'.repeat(1000)}{\n`);
  const rows = Array.from({ length: 5000 }, () => ({}));
  let readCount = 0;
  const read = () => {
    readCount++;
    throw new DomainError('bad-dataset', 'no question.');
  };

  expect((await readRows({ path, listsUnread: true })).unread).toHaveLength(1000);
  expect(() => readEachRow({ rows, source: 'made' }, read)).toThrow(
    'made has at least 1000 bad rows among its first 5000:',
  );
  expect(readCount).toBe(1000);
});

test('accepts a byte order mark, CRLF, blank lines and a missing last newline, and counts lines as editors do', async () => {
  const content = `\ufeff${JSON.stringify(row('a'))}\r\n\r\n   \n${JSON.stringify(row('é'))}`;
  const good = await file('good.jsonl', content);
  const bad = await file('bad.jsonl', `${content}\n\n7\n`);

  expect((await loadDataset({ path: good })).rows.map(({ messages }) => messages[0]?.content)).toEqual([
    'a',
    'é',
  ]);
  await expect(loadDataset({ path: bad })).rejects.toThrow('line 6: expected an object, got number.');
});

test.each([
  ['a key that stands twice', '{"prompt":"a","completion":"b","prompt":"c"}', 'an object has "prompt" twice'],
  ['half of a character', '{"prompt":"a\\ud800","completion":"b"}', 'field "prompt" has half of a character'],
])('refuses a row with %s, by its line', async (_, bad, problem) => {
  const path = await file('rows.jsonl', `${lines(row('a'))}${bad}\n`);
  const good = JSON.stringify({ prompt: 'a, [b] "c" {', completion: 'd' });
  const array = await file('rows.json', `[${good},\n ${bad},${good}]`);

  await expect(loadDataset({ path })).rejects.toThrow(`line 2: ${problem}`);
  await expect(loadDataset({ path: array })).rejects.toThrow(`row 2: ${problem}`);
  expect((await loadDataset({ path: array, onBadRow: 'skip' })).rows).toHaveLength(2);
});

test('reports a torn last line as cut off, not as bad JSON', async () => {
  const path = await file('rows.jsonl', `${lines(row('a'))}{"prompt":"b","comp`);

  await expect(loadDataset({ path })).rejects.toThrow('line 2: the line is cut off');
  expect((await loadDataset({ path, onBadRow: 'skip' })).skipped).toHaveLength(1);
});

test('a line that is longer than a text can be is said to be', async () => {
  const path = await file('rows.jsonl', '');
  await truncate(path, 2 ** 29);

  await expect(loadDataset({ path })).rejects.toThrow('line 1: the line is longer than 512 MiB');
});

describe('a file of more than 2 GiB', () => {
  async function large(name: string): Promise<string> {
    const path = await file(name, lines(row('a')));
    await truncate(path, 2 ** 31 + 2 ** 20);
    return path;
  }

  test.each([
    ['rows.json', 'is longer than 512 MiB, which is as much as is read of one file as a whole. Split it'],
    ['rows.csv', 'is longer than 512 MiB, which is as much as is read of one file as a whole. Split it'],
    ['rows.parquet', 'is larger than 2 GiB, which is as much as is read of one Parquet file. Split it'],
  ])('that is read as a whole is refused by name: %s', async (name, problem) => {
    const path = await large(name);

    for (const read of [() => loadDataset({ path }), () => readRows({ path })]) {
      const error: unknown = await read().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'bad-dataset', retryable: false });
      expect(error).toMatchObject({ message: expect.stringContaining(`${path} ${problem}`) as string });
    }
  });

  test('is read line by line where it can be', async () => {
    const path = await large('rows.jsonl');

    const read = loadDataset({ path });

    await expect(read).rejects.toThrow(`${path} line 2: the line is longer than 512 MiB.`);
  });
});

test.each(['rows.jsonl', 'rows.json'])(
  'says that the lines of %s end with carriage returns alone',
  async (name) => {
    const path = await file(name, lines(row('a'), row('b')).replaceAll('\n', '\r'));

    await expect(loadDataset({ path })).rejects.toThrow(
      /rows\.jsonl? line 1: its rows end with a carriage return \(\\r\) alone, .* tr '\\r' '\\n' < OLD > NEW\.$/,
    );
  },
);

test('says which item of a JSON list is no JSON, and leaves out that one alone where it may', async () => {
  const path = await file(
    'nan.json',
    `[
    {"prompt": "a", "completion": "b"},
    {"prompt": "a [", "completion": NaN},
    {"prompt": "c", "completion": "d"}
  ]`,
  );

  await expect(loadDataset({ path })).rejects.toThrow(`${path} row 2: not valid JSON (`);
  const { rows, skipped } = await loadDataset({ path, onBadRow: 'skip' });
  expect(rows.map(({ place }) => place)).toEqual([`${path} row 1`, `${path} row 3`]);
  expect(skipped.map(({ line }) => line)).toEqual([2]);
});

test('takes brackets that do not match for one item', async () => {
  const path = await file('brackets.json', '[{"prompt": "a", "completion": "b"]}');

  await expect(loadDataset({ path })).rejects.toThrow(`${path} row 1: not valid JSON (`);
});

test.each(['[{"prompt": "a"', '[{"a": 1},]', '[{"a": 1}] {"b": 2}', '[{"a": "}]'])(
  'refuses a JSON list whose items cannot be told apart: %s',
  async (text) => {
    const path = await file('broken-list.json', text);

    await expect(loadDataset({ path, onBadRow: 'skip' })).rejects.toThrow(`${path} is not valid JSON`);
  },
);

test.each(['list.json', 'table.csv'])('names the line of %s that is not UTF-8', async (name) => {
  const path = await file(name, Buffer.from('[1,\n2,\n"Caf\xe9"]', 'latin1'));

  await expect(loadDataset({ path })).rejects.toThrow(`${path} is not UTF-8 text (line 3). Convert it`);
});

test('names the line that is not UTF-8, and refuses UTF-16 files', async () => {
  const latin1 = await file('latin1.jsonl', Buffer.from(`${lines(row('a'))}{"prompt":"\xe9"}\n`, 'latin1'));
  const utf16 = await file('utf16.jsonl', Buffer.from(`\ufeff${lines(row('a'))}`, 'utf16le'));

  await expect(loadDataset({ path: latin1 })).rejects.toThrow('line 2: the line is not UTF-8 text.');
  await expect(loadDataset({ path: utf16 })).rejects.toThrow('is not UTF-8 text. Convert it');
});

test.each([
  ['under a name for all', { data: [row('a'), row('b')] }, 'its rows stand in a list under "data"'],
  ['each under its own name', { r1: row('a'), r2: row('b') }, 'its rows stand under names of their own'],
])('refuses a .json file whose rows stand %s', async (_, content, problem) => {
  const path = await file('rows.json', JSON.stringify(content));
  const printed = await file('printed.json', JSON.stringify(content, null, 2));

  await expect(loadDataset({ path, onBadRow: 'skip' })).rejects.toThrow(`${path}: ${problem}`);
  await expect(loadDataset({ path: printed })).rejects.toThrow(`${printed}: ${problem}`);
});

test('a .json file of one row is a row', async () => {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ];

  expect(
    (await loadDataset({ path: await file('one.json', JSON.stringify({ messages })) })).rows,
  ).toHaveLength(1);
});

test('reads .json as an array, counting rows, or as one object a line', async () => {
  const array = await file('array.json', JSON.stringify([row('a'), row('b')], null, 2));
  const perLine = await file('lines.json', lines(row('c')));
  const bad = await file('bad.json', '[{"prompt":"a","completion":"b"}, {"prompt": 1, "completion": "c"}]');
  const broken = await file('broken.json', '[{"prompt":');

  expect((await loadDataset({ path: [array, perLine] })).rows).toHaveLength(3);
  await expect(loadDataset({ path: bad })).rejects.toThrow('bad.json row 2: field "prompt"');
  await expect(loadDataset({ path: broken })).rejects.toThrow('is not valid JSON');
});

test('reads Parquet, compressed and with nested lists', async () => {
  const { rows } = await loadDataset({ path: join(__dirname, 'fixtures/two-conversations.parquet') });

  expect(rows.map(({ messages }) => messages)).toEqual([
    conversation,
    [
      { role: 'user', content: 'Grüße 😀' },
      { role: 'assistant', content: 'x\n\ny' },
    ],
  ]);
});

test('refuses a damaged Parquet file by name', async () => {
  const path = await file('rows.parquet', 'PAR1 nothing here PAR1');

  await expect(loadDataset({ path })).rejects.toThrow(`${path} is not a readable Parquet file`);
});

test.each(['rows.jsonl', 'rows.json'])('refuses rows over several lines once, in %s', async (name) => {
  const path = await file(name, `${JSON.stringify(row('a'), null, 2)}\n`);

  await expect(loadDataset({ path })).rejects.toThrow(`${path} line 1: a row is written over several lines.`);
});

test('hashes the bytes as sha256sum does, over all files in their order', async () => {
  const first = await file('a.jsonl', lines(row('a')));
  const second = await file('b.jsonl', lines(row('b')));
  const expected = createHash('sha256')
    .update(lines(row('a')) + lines(row('b')))
    .digest('hex');

  const listed = await loadDataset({ path: [first, second] });
  const whole = await loadDataset({ path: folder });

  expect(listed.contentHash).toBe(expected);
  expect(whole).toEqual(listed);
  expect(listed.source).toEqual({ description: `${first}, ${second}`, files: [first, second] });
});

test.each([
  ['a missing file', 'nowhere.jsonl', /it does not exist/],
  ['an unknown format', 'rows.tsv', /in no known format/],
  ['an empty file', 'empty.jsonl', /is empty: its files hold no rows/],
  ['only bad rows', 'bad.jsonl', /all 1 rows were skipped, the first one because: no known shape/],
  ['an empty folder', 'folder', /holds no .jsonl, .json or .parquet file/],
])('refuses %s', async (_, name, message) => {
  await file('rows.tsv', 'a,b');
  await file('empty.jsonl', '\n');
  await file('bad.jsonl', '{"a":1}\n');
  const path = name === 'folder' ? await mkdtemp(join(folder, 'empty-')) : join(folder, name);

  const loading = loadDataset({ path, onBadRow: 'skip' });

  await expect(loading).rejects.toMatchObject({ code: 'bad-dataset' });
  await expect(loading).rejects.toThrow(message);
});

test('refuses an empty list of files', async () => {
  await expect(loadDataset({ path: [] })).rejects.toThrow('No dataset file is named');
});

test('a link to nothing in a folder is named', async () => {
  const within = await mkdtemp(join(folder, 'links-'));
  const link = join(within, 'rows.jsonl');
  await symlink(join(within, 'nowhere'), link);

  await expect(loadDataset({ path: within })).rejects.toThrow(
    `Dataset file "${link}" cannot be read (looked at ${link}): it does not exist. Correct dataset.path.`,
  );
});

test('a pipe or a device keeps nobody waiting: it is refused by its path, also in a folder', async () => {
  const within = await mkdtemp(join(folder, 'pipes-'));
  const pipe = join(within, 'rows.jsonl');
  execFileSync('mkfifo', [pipe]);

  for (const path of [pipe, within, '/dev/zero']) {
    const told = path === within ? pipe : path;
    await expect(loadDataset({ path })).rejects.toThrow(
      `Dataset file "${told}" cannot be read: it is no plain file, but a pipe, a socket or a device.`,
    );
  }
  await expect(readRows({ path: pipe, key: 'dataset.path' })).rejects.toThrow('it is no plain file');
  for (const read of [loadDataset, readRows]) {
    await expect(read({ path: '/proc/self/mem' })).rejects.toThrow('but one that the system makes');
  }
});
