import type { Message } from '../../../src/core/conversation';
import { countRepliesWithoutReasoning } from '../../../src/training/replies-without-reasoning';

const user = (content: string): Message => ({ role: 'user', content });
const reply = (thinking: string, text: string): Message => ({
  role: 'assistant',
  content: [
    { type: 'thinking', thinking },
    { type: 'text', text },
  ],
});

const turn = (role: string, text: string) => `<|im_start|>${role}\n${text}<|im_end|>\n`;
const thought = (thinking: string, text: string) => `<think>\n${thinking}\n</think>\n\n${text}`;

const BOTH_ASKED = [
  user('Both?'),
  reply('Ask both.', 'Asking.'),
  { role: 'tool', content: 'rain' },
  { role: 'tool', content: '3' },
  reply('Add them.', 'In 3 days.'),
];
const BOTH_WRITTEN =
  turn('user', 'Both?') +
  turn('assistant', thought('Ask both.', 'Asking.')) +
  turn('tool', '3') +
  turn('tool', 'rain');

test.each<[string, readonly Message[], string, number]>([
  [
    'all is written',
    [user('1+1?'), reply('One more.', '2'), user('2+2?'), reply('Twice two.', '4')],
    turn('user', '1+1?') +
      turn('assistant', thought('One more.', '2')) +
      turn('user', '2+2?') +
      turn('assistant', thought('Twice two.', '4')),
    0,
  ],
  [
    'the earlier of two replies that reason alike lost its own',
    [user('1+1?'), reply('Add the numbers.', '2'), user('2+2?'), reply('Add the numbers.', '4')],
    turn('user', '1+1?') +
      turn('assistant', '2') +
      turn('user', '2+2?') +
      turn('assistant', thought('Add the numbers.', '4')),
    1,
  ],
  [
    'answers are written in the order of the calls',
    BOTH_ASKED,
    BOTH_WRITTEN + turn('assistant', thought('Add them.', 'In 3 days.')),
    0,
  ],
  [
    'behind answers in another order, reasoning is missed',
    BOTH_ASKED,
    BOTH_WRITTEN + turn('assistant', 'In 3 days.'),
    1,
  ],
  [
    'several thoughts are written as one text',
    [
      user('1+1?'),
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'One' },
          { type: 'thinking', thinking: 'more' },
          { type: 'text', text: '2' },
        ],
      },
    ],
    turn('user', '1+1?') + turn('assistant', thought('Onemore', '2')),
    0,
  ],
  [
    'a short one is found in no longer word',
    [user('q'), reply('r', 'A'), user('more'), reply('s', 'B')],
    turn('user', 'q') + turn('assistant', 'A') + turn('user', 'more') + turn('assistant', thought('s', 'B')),
    1,
  ],
  [
    'the answer stands in the reasoning',
    [user('2+2?'), reply('It is 4, so 4.', '4')],
    turn('user', '2+2?') + turn('assistant', thought('It is 4, so 4.', '4')),
    0,
  ],
  [
    'blocks of a text are reasoning as well',
    [user('q'), { role: 'assistant', content: '<think>Why</think>A' }, user('more')],
    turn('user', 'q') + turn('assistant', 'A') + turn('user', 'more'),
    1,
  ],
])('%s', (_, messages, text, count) => {
  expect(countRepliesWithoutReasoning(messages, text)).toBe(count);
});
