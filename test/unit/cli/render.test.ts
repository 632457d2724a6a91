import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createCommand } from '../../../src/cli/commands/render';
import type { RenderedExample } from '../../../src/core/conversation';
import { loadTokenizer } from '../../../src/renderers/tokenizers/load-tokenizer';
import { realModel, realModelsFolder } from '../renderers/real-models';
import type { RenderingCase, Site } from '../renderers/real-rendering';
import { differenceOf, readRenderings } from '../renderers/real-rendering';

jest.mock('../../../src/renderers/tokenizers/load-tokenizer', () =>
  jest.requireActual<object>('../renderers/read-once'),
);

const QWEN3 = realModel('Qwen3-8B')?.folder ?? '';
const QUESTION = { role: 'user', content: 'Hi' };

let folder = '';
let stdout = '';
let stderr = '';

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-render-'));
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
  rmSync(folder, { recursive: true, force: true });
});

afterAll(() => {
  rmSync(realModelsFolder() ?? folder, { recursive: true, force: true });
});

type Line = Readonly<Record<string, unknown>>;

function render(...words: readonly string[]): Promise<unknown> {
  return createCommand().exitOverride().parseAsync(words, { from: 'user' });
}

async function answersTo(lines: readonly unknown[], ...words: readonly string[]): Promise<Line[]> {
  const [input, output] = [path.join(folder, 'in.jsonl'), path.join(folder, 'out.jsonl')];
  writeFileSync(input, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  await render('--model', QWEN3, '--input', input, '--output', output, ...words);
  return linesIn(readFileSync(output, 'utf8'));
}

function linesIn(text: string): Line[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

test('answers each line in order: what is trained, a prompt, where it stops, a reply, a text', async () => {
  const conversation = [QUESTION, { role: 'assistant', content: 'Ho' }];
  const { encode, decode } = await tokenizerOf();
  const [trained, mode, prompt, stop, parsed, encoded] = await answersTo(
    [
      { kind: 'supervised', messages: conversation },
      { kind: 'supervised', messages: conversation, trainOnWhat: 'all_tokens' },
      { kind: 'prompt', messages: [QUESTION], prefill: 'So' },
      { kind: 'stop' },
      {
        kind: 'parse',
        sampled: encode('<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call><|im_end|>'),
      },
      { kind: 'encode', text: 'a<|im_end|>' },
    ],
    ...['--renderer', 'qwen3'],
  );

  const { tokens, weights } = trained as unknown as RenderedExample;
  expect(decode(tokens.filter((_, index) => weights[index] === 1))).toBe(
    '<think>\n\n</think>\n\nHo<|im_end|>',
  );
  expect(mode).toEqual({ tokens, weights: tokens.map(() => 1) });
  expect(decode(prompt?.['tokens'] as number[])).toBe(
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nSo',
  );
  expect(stop).toEqual({ stop: [151645] });
  expect(parsed).toEqual({
    message: {
      role: 'assistant',
      content: [],
      tool_calls: [{ type: 'function', id: null, function: { name: 'a', arguments: '{"x": 1}' } }],
    },
    termination: 'stop_sequence',
  });
  expect(encoded).toEqual({ tokens: [64, 151645] });
});

async function tokenizerOf() {
  const tokenizer = await loadTokenizer({ folder: QWEN3 });
  return {
    encode: (text: string) => tokenizer.encode(text, { allowSpecial: true }),
    decode: (tokens: readonly number[]) => tokenizer.decode([...tokens]),
  };
}

test('refuses a line and answers the others', async () => {
  const refusals = await answersTo([
    { kind: 'prompt', messages: [] },
    { kind: 'prompt', messages: [{ role: 'user', content: 7 }] },
    { kind: 'sing' },
    { kind: 'stop', loud: true },
    { kind: 'supervised', messages: [QUESTION], trainOnWhat: 'everything' },
    { kind: 'parse', sampled: ['a'] },
    { kind: 'prompt', messages: [QUESTION] },
  ]);

  expect(refusals.map(({ error }) => error)).toEqual([
    'the conversation has no messages.',
    expect.stringContaining('field "messages[0].content": expected text, got number.'),
    'field "kind": expected supervised, prompt, stop, parse, encode, got "sing".',
    '"stop" does not know loud. It has: kind.',
    expect.stringContaining('field "trainOnWhat": expected lastAssistantMessage'),
    'field "sampled": expected a list of tokens, whole numbers from 0.',
    undefined,
  ]);
  expect(stderr).toContain('7 lines, 6 refused (see "error"). Written to ');
});

test('writes to standard output without --output, a line that is no JSON as refused', async () => {
  const input = path.join(folder, 'in.jsonl');
  writeFileSync(input, '{"kind": "stop"}\nnonsense\n');

  await render('--model', 'everstep/tiny', '--input', input);

  expect(linesIn(stdout)).toEqual([
    { stop: [6] },
    { error: expect.stringContaining('not valid JSON') as string },
  ]);
});

test('leaves no file where the renderer is refused, nor where the input is not there', async () => {
  const [input, output] = [path.join(folder, 'in.jsonl'), path.join(folder, 'out.jsonl')];
  const asked = ['--model', QWEN3, '--input', input, '--output', output];
  await expect(render(...asked)).rejects.toThrow(`file "${input}" cannot be read: it does not exist.`);
  writeFileSync(input, '{"kind": "stop"}\n');
  await expect(render(...asked, '--renderer', 'llama3')).rejects.toThrow('needs the special tokens');
  await expect(render(...asked, '--renderer', 'nope')).rejects.toThrow('Unknown renderer "nope"');
  await expect(render('--model', './nowhere', '--input', input)).rejects.toThrow(
    'no folder with tokenizer.json',
  );

  expect(existsSync(output)).toBe(false);
});

test('gives a chat template its variables, and no other renderer any', async () => {
  const lines = [{ kind: 'prompt', messages: [QUESTION] }];
  const given = (json: string, renderer = 'chat_template') => [
    ...['--renderer', renderer, '--template-arguments', json],
  ];
  const { decode } = await tokenizerOf();

  const [thinking] = await answersTo(lines, ...given('{}'));
  const [closed] = await answersTo(lines, ...given('{"enable_thinking": false}'));

  expect(decode(closed?.['tokens'] as number[])).toBe(
    `${decode(thinking?.['tokens'] as number[])}<think>\n\n</think>\n\n`,
  );
  await expect(answersTo(lines, ...given('{"enable_thinking": false}', 'qwen3'))).rejects.toThrow(
    'templateArguments: renderer "qwen3" has no template to give enable_thinking to.',
  );
  await expect(answersTo(lines, ...given('{"enable_thinkng": false}'))).rejects.toThrow(
    `does not read enable_thinkng.`,
  );
  await expect(answersTo(lines, ...given('{"messages": []}'))).rejects.toThrow(
    'messages is given by the conversation',
  );
  await expect(answersTo(lines, ...given('[]'))).rejects.toThrow('Give a JSON object');
});

const family = readRenderings('qwen3');
(family === null ? test.skip : test)('answers as the reference does, case by case', async () => {
  if (family === null) return;
  const cases = family.cases.filter(
    ({ model, renderer }) => model === 'Qwen3-8B' && renderer === 'qwen3_disable_thinking',
  );
  const tokenizer = await loadTokenizer({ folder: QWEN3 });
  const site: Site = { family, tokenizer, renderers: new Map() };
  const asked = cases.filter((one) => one.expected.raises === undefined && differenceOf(one, site) === null);

  const answers = await answersTo(
    asked.map((one) => lineOf(one, site)),
    ...['--renderer', 'qwen3_disable_thinking'],
  );

  expect(answers.map(comparable)).toEqual(asked.map(({ expected }) => comparable(expectedOf(expected))));
  expect(asked.length).toBeGreaterThan(100);
});

function lineOf(one: RenderingCase, { family: { conversations } }: Site): Line {
  const { messages = [], tools } = conversations[one.conversation] ?? {};
  const isReplied = messages.length > 1 && messages.at(-1)?.role === 'assistant';
  const { prefill, sampled } = one;
  const lines: Readonly<Record<string, Line>> = {
    'cookbook-stop': { kind: 'stop' },
    'cookbook-parse': { kind: 'parse', sampled },
    'cookbook-supervised': { kind: 'supervised', messages, tools, trainOnWhat: 'allTokens' },
  };
  const asked = isReplied ? messages.slice(0, -1) : messages;
  return lines[one.kind] ?? { kind: 'prompt', messages: asked, tools, prefill };
}

function expectedOf({ tokens, stop, message, termination }: RenderingCase['expected']): Line {
  if (message) return { message: { ...message }, termination };
  return stop ? { stop } : { tokens };
}

/** Words of one part and of none are the same; reasons for what could not be read are in words of our own. */
function comparable({ message, termination, tokens, stop }: Line): unknown {
  if (message === undefined) return { tokens, stop };
  const {
    content,
    tool_calls: calls = [],
    unparsed_tool_calls: unparsed = [],
  } = message as {
    content: string | unknown[];
    tool_calls?: unknown[];
    unparsed_tool_calls?: { raw_text: string }[];
  };
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const spoken = parts.filter((part) => JSON.stringify(part) !== '{"type":"text","text":""}');
  return { termination, spoken, calls, unparsed: unparsed.map(({ raw_text }) => raw_text) };
}

test('reads calls in XML by the types that the line declares', async () => {
  const text =
    '<tool_call>\n<function=find>\n<parameter=year>\n2024\n</parameter>\n<parameter=exact>\nTrue\n</parameter>\n</function>\n</tool_call><|im_end|>';
  const tools = [
    {
      type: 'function',
      function: {
        name: 'find',
        description: 'Finds',
        parameters: {
          type: 'object',
          properties: { year: { type: 'string' }, exact: { type: 'boolean' } },
        },
      },
    },
  ];
  const [encoded] = await answersTo([{ kind: 'encode', text }], '--renderer', 'qwen3_5');
  const sampled = encoded?.['tokens'];

  const [parsed] = await answersTo([{ kind: 'parse', sampled, tools }], '--renderer', 'qwen3_5');

  expect(parsed).toMatchObject({
    message: { tool_calls: [{ function: { name: 'find', arguments: '{"year": "2024", "exact": true}' } }] },
  });
});
