import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { findRenderer } from '../../../../src/renderers/find-renderer';
import { loadTokenizer } from '../../../../src/renderers/tokenizers/load-tokenizer';
import { startHubServer } from '../../hub/hub-server';

const [CHINESE, SCRIPT] = [Buffer.from('中'), Buffer.from('文')];
/** In the order of their ranks, behind the 256 bytes. */
const MERGED: readonly (string | Buffer)[] = [
  ...['th', 'the', ' the', 'in', 'ing', 'aa', 'aaaa', "'s", '12', '123', 'ba'],
  ...[CHINESE.subarray(0, 2), CHINESE, SCRIPT.subarray(0, 2), SCRIPT, '中文', '  '],
];
const RANK_COUNT = 256 + MERGED.length;
const END = '<|im_end|>';
const CALL = '<|tool_call_begin|>';
const CONFIG = {
  tokenizer_class: 'TikTokenTokenizer',
  bos_token: '[BOS]',
  eos_token: { content: '[EOS]' },
  chat_template: 'T',
  added_tokens_decoder: {
    [RANK_COUNT]: { content: '[BOS]', special: true },
    [RANK_COUNT + 1]: { content: '[EOS]', special: true },
    [RANK_COUNT + 2]: { content: END, special: true },
    [RANK_COUNT + 3]: { content: CALL, special: false },
  },
};

function ranksOf(tokens: readonly (string | Buffer)[]): string {
  const bytes = Array.from({ length: 256 }, (_, byte) => Buffer.of(byte));
  return [...bytes, ...tokens]
    .map((token, rank) => `${Buffer.from(token).toString('base64')} ${rank}\n`)
    .join('');
}

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everstep-tiktoken-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function load(ranks = ranksOf(MERGED), config: object = CONFIG) {
  await writeFile(join(folder, 'tiktoken.model'), ranks);
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  return loadTokenizer({ folder });
}

// What tiktoken 0.14.0 gives with these ranks and Kimi's pattern.
test.each([
  ["the thing's", [257, 32, 256, 260, 263]],
  ["The IT'S on 12345", [84, 104, 101, 32, 73, 84, 39, 83, 32, 111, 110, 32, 265, 52, 53]],
  ['aaaaa baa', [262, 97, 32, 98, 261]],
  ['中文的 text中文', [271, 231, 154, 132, 32, 116, 101, 120, 116, 271]],
  ['a  b\n\n  c', [97, 32, 32, 98, 10, 10, 32, 32, 99]],
  ['x<|im_end|>the', [120, 60, 124, 105, 109, 95, 101, 110, 100, 124, 62, 257]],
  ["it'ſ é", [105, 116, 39, 197, 191, 32, 195, 169]],
])('cuts %j as tiktoken does', async (text, tokens) => {
  const tokenizer = await load();

  expect(tokenizer.encode(text)).toEqual(tokens);
  expect(tokenizer.decode(tokens)).toBe(text);
});

test('knows the tokens that its configuration names', async () => {
  const tokenizer = await load();

  expect(tokenizer).toMatchObject({
    vocabSize: RANK_COUNT + 256,
    bosToken: '[BOS]',
    eosToken: '[EOS]',
    eosTokenId: RANK_COUNT + 1,
    chatTemplate: 'T',
  });
  const tokens = tokenizer.encode(`the${END}${CALL}<|reserved_token_${RANK_COUNT + 9}|>`, {
    allowSpecial: true,
  });
  expect(tokens).toEqual([257, RANK_COUNT + 2, RANK_COUNT + 3, RANK_COUNT + 9]);
  expect(tokens.map((token) => tokenizer.isSpecial(token))).toEqual([false, true, false, true]);
  expect(tokenizer.decode(tokens, { skipSpecial: true })).toBe(`the${CALL}`);
  expect(tokenizer.encode(CALL)).not.toContain(RANK_COUNT + 3);
});

test('decodes what it encoded, however long a word is', async () => {
  const tokenizer = await load();

  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }),
  );
  const long = '中文'.repeat(30_000);
  expect(tokenizer.decode(tokenizer.encode(long))).toBe(long);
});

test('serves a renderer of Kimi', async () => {
  const words = [
    ...['<|im_user|>', '<|im_assistant|>', '<|im_system|>', '<|im_middle|>', '<think>', '</think>'],
    ...['<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'],
    ...['<|tool_call_end|>', '<|tool_call_argument_begin|>'],
  ];
  const added = words.map((content, index) => [RANK_COUNT + 4 + index, { content, special: false }]);
  const decoder = { ...CONFIG.added_tokens_decoder, ...(Object.fromEntries(added) as object) };
  const tokenizer = await load(ranksOf(MERGED), { ...CONFIG, added_tokens_decoder: decoder });
  const renderer = findRenderer('kimi_k2', tokenizer);

  const tokens = renderer.buildGenerationPrompt([{ role: 'user', content: `the ${END}` }]);

  expect(tokenizer.decode(tokens)).toContain(`<|im_user|>user<|im_middle|>the ${END}${END}<|im_assistant|>`);
  // The one that was written by the user stays a word.
  expect(tokens.filter((token) => token === RANK_COUNT + 2)).toHaveLength(2);
  expect(renderer.parseCompletion([...tokenizer.encode('aa'), RANK_COUNT + 2])).toMatchObject({
    message: { content: 'aa' },
  });
});

test.each([
  ['a token that is no base64', 'AA== 0\n?? 1\n', /line "\?\? 1"/],
  ['ranks with a gap', 'AA== 0\nAQ== 2\n', /line "AQ== 2" is no token with the rank 1/],
  ['a byte that is missing', 'AA== 0\n', /byte 1 is no token/],
])('refuses %s', async (_, ranks, message) => {
  await expect(load(ranks)).rejects.toThrow(message);
});

test('refuses the tokenizer of another program, saying that its pattern is not known', async () => {
  const config = { tokenizer_class: 'QWenTokenizer' };

  await expect(load(ranksOf(MERGED), config)).rejects.toThrow(/Python code .*QWenTokenizer.*Known is Kimi's/);
});

test('comes from the hub where there is no tokenizer.json', async () => {
  const files = {
    'tiktoken.model': ranksOf(MERGED),
    'tokenizer_config.json': JSON.stringify(CONFIG),
    'chat_template.jinja': 'of the file',
  };
  const server = await startHubServer({ kind: 'models', files });
  try {
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };
    const tokenizer = await loadTokenizer(source);

    expect(tokenizer.encode(' the')).toEqual([258]);
    expect(tokenizer.chatTemplate).toBe('of the file');
  } finally {
    await server.close();
  }
});
