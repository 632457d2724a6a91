import { readFileRows } from '../../../src/datasets/file-rows';
import { RowProblem } from '../../../src/datasets/row-problem';
import { toConversation } from '../../../src/datasets/rows';
import type { FuzzTarget } from '../target';
import { isOwnError, passAll } from '../target';

export const isRowRefusal = (error: unknown) => isOwnError(error) || error instanceof RowProblem;

const ROWS = [
  {
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [{ type: 'text', text: 'b' }], weight: 1 },
    ],
  },
  {
    conversations: [
      { from: 'human', value: 'a' },
      { from: 'gpt', value: 'b' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
  },
  { prompt: 'a', completion: 'b', system: 's' },
  { instruction: 'a', input: 'b', output: 'c', history: [['q', 'a']] },
  {
    messages: [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: '1', content: 'x' },
    ],
  },
];

/** Rows of a file in each of the formats of text, as conversations. */
export const target: FuzzTarget = {
  name: 'datasets',
  seeds: () => [
    ROWS.map((row) => JSON.stringify(row)).join('\n'),
    JSON.stringify(ROWS),
    'prompt,completion\n"a ""b""\nc",d\n1,2\n',
  ],
  words: [
    'messages',
    'role',
    'tool_calls',
    'arguments',
    '""',
    ',',
    '\r',
    'weight',
    'train',
    'thinking',
    '"\\ud800"',
  ],
  isRefusal: isRowRefusal,
  run: (bytes) =>
    passAll(
      ['jsonl', 'json', 'csv'].map((extension) => async () => {
        for await (const row of readFileRows(`rows.${extension}`, bytes))
          await passAll([() => toConversation(row)], isRowRefusal);
      }),
      isRowRefusal,
    ),
};
