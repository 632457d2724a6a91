import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonLines } from '../../../src/datasets/json-rows';
import type { Fields } from '../../../src/datasets/kind-of';
import { readMessages } from '../../../src/datasets/messages';
import { allParquetRows } from './parquet-all';
import { readTools } from '../../../src/datasets/tools';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
import { CharacterTokenizer } from '../renderers/character-tokenizer';

const ARGUMENTS = '{"id":9007199254740993,"ratio":2.0,"eps":1e-05,"0":"z","a":1,"none":null,"flag":true}';
const PARAMETERS = '{"type":"object","properties":{"10":{"default":1.0},"9":{"maximum":1e5}}}';

async function rowOf(line: string): Promise<Fields> {
  const [row] = await readJsonLines('rows.jsonl', Buffer.from(line));
  return (row && 'value' in row ? row.value : {}) as Fields;
}

test('keeps arguments given as an object as they stand in the file', async () => {
  const row = await rowOf(
    `{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ${ARGUMENTS}}}]}]}`,
  );

  expect(readMessages(row['messages'], 'messages')[0]?.toolCalls).toEqual([
    { name: 'f', arguments: ARGUMENTS },
  ]);
});

test('declares tools as they stand in the file, also what only the model reads', async () => {
  const tool = `{"name":"f","description":"d","strict":true,"parameters":${PARAMETERS}}`;
  const row = await rowOf(`{"tools": [{"type": "function", "function": ${tool}}]}`);
  const tokenizer = new CharacterTokenizer();
  const renderer = findRenderer('qwen3', tokenizer);
  const messages = conversationWithTools(
    renderer,
    [{ role: 'user', content: 'q' }],
    readTools(row['tools'], 'tools'),
  );
  const prompt = tokenizer.decode(renderer.buildGenerationPrompt(messages));

  expect(prompt.replaceAll(': ', ':').replaceAll(', ', ',')).toContain(`"function":${tool}`);
});

test.each(['[1,2]', '5', 'null', '"text"'])('refuses arguments that are no object: %s', (text) => {
  const messages = [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: text } }] }];

  expect(() => readMessages(messages, 'messages')).toThrow(
    /messages\[0\]\.tool_calls\[0\]\.function\.arguments.*of an object/,
  );
});

test('refuses arguments whose text has a key twice, of which a tool would see one', () => {
  const text = '{"a": 1, "b": {"c": 2, "c": 3}}';
  const messages = [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: text } }] }];

  expect(() => readMessages(messages, 'messages')).toThrow(
    'field "messages[0].tool_calls[0].function.arguments": an object has "c" twice, of which only the last would count. Keep one.',
  );
});

test('reads the structs of a Parquet file: whole numbers, floats, and no keys of other calls', async () => {
  const bytes = readFileSync(join(__dirname, 'fixtures/calls-in-structs.parquet'));
  const [row] = await allParquetRows('calls.parquet', bytes);
  const fields = (row && 'value' in row ? row.value : {}) as Fields;

  expect(readMessages(fields['messages'], 'messages')[1]?.toolCalls).toEqual([
    { name: 'weather', arguments: '{"city":"Oslo","limit":3,"ratio":2.0,"id":9007199254740993}' },
    { name: 'search', arguments: '{"query":"sun"}' },
  ]);
});

test('writes the floats of a Parquet file as Python does', async () => {
  const rows = await allParquetRows('floats.parquet', readFileSync(fixture('small-floats.parquet')));

  const calls = rows.map((row) => readMessages(messagesIn(row), 'messages')[1]?.toolCalls?.[0]?.arguments);
  expect(calls).toEqual(['{"eps":1e-05,"size":2.0}', '{"eps":1e+16,"size":2.0}']);
});

test('keeps the digits of decimals, and the entries and order of maps, in a Parquet file', async () => {
  const written = (await callsIn('odd-values.parquet')).filter((call) => !call.startsWith('field'));

  expect(written).toEqual([
    '{"price":123456789012345678901234.56}',
    '{"small":-0.0500}',
    '{"whole":12345678901234567890}',
    '{"map":{"b":2,"a":null,"1":9007199254740993}}',
    '{"list":[2.0,null]}',
    '{"maps":[{"x":2.0},{},{"x":1e-05,"y":3.0}]}',
    '{"half":2.0}',
    '{"empty":{}}',
    '{"deep":{"k":[{"d":1.0}]}}',
  ]);
});

test('refuses by name what JSON cannot say in a call, and only there', async () => {
  const refused = (await callsIn('odd-values.parquet')).filter((call) => call.startsWith('field'));

  const remedy = 'is nothing that JSON can say. Write it as the text or the number that the model is to see.';
  const at = (name: string) => `field "messages[0].tool_calls[0].function.arguments.${name}"`;
  expect(refused).toEqual([
    `${at('day')}: a date ${remedy}`,
    `${at('at')}: a point in time ${remedy}`,
    `${at('clock')}: a time of day ${remedy}`,
    `${at('nan')}: NaN ${remedy}`,
    `${at('raw')}: bytes ${remedy}`,
    `${at('twice')}: a map that has the key "a" twice ${remedy}`,
  ]);
});

test('keeps what is absent in lists, the order of structs, and the keys of maps that JSON can have', async () => {
  const remedy =
    'a map whose keys are neither text nor numbers is nothing that JSON can say. Write it as the text or the number that the model is to see.';
  const at = (name: string) => `field "messages[0].tool_calls[0].function.arguments.${name}": ${remedy}`;

  expect(await callsIn('odd-lists-and-keys.parquet')).toEqual([
    '{"nulls":[{"b":"x"},null]}',
    '{"first":[null,{"b":"x","c":1}]}',
    '{"only":[null]}',
    '{"lists":[[1],null,[null]]}',
    '{"maps":[{"a":1},null]}',
    '{"order":{"city":"x","2024":1,"10":2,"9":3}}',
    '{"floatkey":{"1.0":2}}',
    '{"intkey":{"9007199254740993":2}}',
    ...['datekey', 'deckey', 'listkey', 'timekey'].map(at),
  ]);
});

test('refuses two columns of one name, of which one would be lost', async () => {
  const name = 'two-columns-of-one-name.parquet';

  await expect(allParquetRows(name, readFileSync(fixture(name)))).rejects.toThrow(
    'two of its columns are called "output", of which one would be lost.',
  );
});

/** Each row has one call with one argument. */
async function callsIn(name: string): Promise<string[]> {
  const rows = await allParquetRows(name, readFileSync(fixture(name)));
  return rows.map((row) => {
    try {
      return readMessages(messagesIn(row), 'messages')[0]?.toolCalls?.[0]?.arguments ?? 'no call';
    } catch (error) {
      return (error as Error).message;
    }
  });
}

test('refuses bytes of a Parquet file that are no text, and names the row and the field', async () => {
  const rows = await allParquetRows('bytes.parquet', readFileSync(fixture('bytes.parquet')));

  expect(rows).toEqual([
    { line: 1, problem: 'field "prompt": its bytes are not UTF-8 text.' },
    { line: 2, value: { prompt: 'ok', completion: 'fine' } },
    { line: 3, value: { prompt: '\ufeffé', completion: 'mark' } },
  ]);
});

function fixture(name: string): string {
  return join(__dirname, 'fixtures', name);
}

function messagesIn(row: object): unknown {
  const { value }: { value?: Fields } = { ...row };
  return value?.['messages'];
}
