import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonWithSource } from '../../../../src/core/json-source';
import type { Message } from '../../../../src/core/conversation';
import { readTools } from '../../../../src/datasets/tools';
import type { Example } from '../../../../src/evaluation/example';
import type { JudgeMethod } from '../../../../src/evaluation/graders/grader';
import { conversationText } from '../../../../src/evaluation/judges/conversation-text';
import { judgedGrader } from '../../../../src/evaluation/judges/judged-grader';
import { modelGraded } from '../../../../src/evaluation/judges/methods/model-graded';
import { sampledOpponent, targetOpponent } from '../../../../src/evaluation/judges/methods/opponents';
import { pairwise } from '../../../../src/evaluation/judges/methods/pairwise';
import { rubric } from '../../../../src/evaluation/judges/methods/rubric';
import { singleScore } from '../../../../src/evaluation/judges/methods/single-score';
import { newFolder } from '../runner/fake-model';
import { deskThatSays, judgeCalled, judgesThatSay, openWith, promptOf } from './fake-judges';

const asked: Message = { role: 'user', content: 'add 3' };
const call = (a: number, id?: string) => ({ name: 'add', arguments: `{"a":${a}}`, ...(id && { id }) });
const CALLING: Example = {
  id: 'q',
  messages: [
    asked,
    { role: 'assistant', content: '', toolCalls: [call(3)] },
    { role: 'tool', content: '{"r": 3}', name: 'add' },
  ],
  target: 'It is 3',
};
const TOOLS = [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }];
const DECLARED =
  'Tools the assistant may call: [{"name":"add","description":"Adds.","parameters":{"type":"object"}}]';
const CALLED = 'user: add 3\n\nassistant: {"name": "add", "arguments": {"a":3}}\n\ntool add: {"r": 3}';

const METHODS: readonly (readonly [string, JudgeMethod, string])[] = [
  ['qa', modelGraded({ kind: 'qa' }), '[Task]: '],
  ['fact', modelGraded({ kind: 'fact' }), '[Question]: '],
  ['an own template', modelGraded({ kind: 'qa', template: 'Asked <{question}> {answer}' }), 'Asked <'],
  ['score', singleScore(), '[Question]: '],
  ['rubric', rubric({ items: ['Kind.'] }), '[Conversation]: '],
  ['comparison', pairwise({ opponent: targetOpponent, by: 'judge' }), '[Question]: '],
];

describe.each(METHODS)('%s', (_name, method, before) => {
  const promptFor = async (example: Example) => {
    const { desk, questions } = deskThatSays(() => '');
    await method.vote(desk, 'It is 3', example);
    return promptOf(questions[0] ?? { messages: [] });
  };

  test('shows the calls of a conversation', async () => {
    expect(await promptFor(CALLING)).toContain(`${before}${CALLED}`);
  });

  test('shows the tools of a row before its conversation, once', async () => {
    const prompt = await promptFor({ ...CALLING, tools: TOOLS });

    expect(prompt).toContain(`${before}${DECLARED}\n\n${CALLED}`);
    expect(prompt.split('Tools the assistant may call')).toHaveLength(2);
  });
});

describe('a conversation as text', () => {
  test('has words and calls of one message below each other', () => {
    const message = { role: 'assistant', content: 'Let me see.', toolCalls: [call(3), call(4)] };

    expect(conversationText({ messages: [asked, message] })).toBe(
      'user: add 3\n\nassistant: Let me see.\n{"name": "add", "arguments": {"a":3}}\n{"name": "add", "arguments": {"a":4}}',
    );
  });

  test('names the tool of an answer that names its call alone', () => {
    const calling = { role: 'assistant', content: '', toolCalls: [call(3, 'one')] };
    const answer = { role: 'tool', content: '3', toolCallId: 'one' };

    expect(conversationText({ messages: [asked, calling, answer] })).toMatch(/\n\ntool add: 3$/);
  });

  test('has a lone question under its role where tools stand before it', () => {
    expect(conversationText({ messages: [asked], tools: TOOLS })).toBe(`${DECLARED}\n\nuser: add 3`);
  });

  test('declares tools as the row writes their numbers', () => {
    const tools = readTools(
      parseJsonWithSource('[{"name":"add","parameters":{"maximum":9007199254740993,"minimum":1.0}}]'),
      'tools',
    );

    expect(conversationText({ messages: [asked], tools })).toContain(
      '"maximum":9007199254740993,"minimum":1.0',
    );
  });

  test.each<readonly [string, Pick<Example, 'messages' | 'tools'>, string]>([
    ['a lone question', { messages: [asked] }, 'add 3'],
    ['a lone question of no tools', { messages: [asked], tools: [] }, 'add 3'],
    [
      'several messages, an empty one and reasoning',
      {
        messages: [
          { role: 'system', content: '' },
          { ...asked, name: 'ann' },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'hm' },
              { type: 'text', text: '3' },
            ],
          },
          { role: 'tool', content: 'an answer to nobody' },
        ],
      },
      'system: \n\nuser: add 3\n\nassistant: 3\n\ntool: an answer to nobody',
    ],
  ])('is without calls and tools what it was: %s', (_what, example, text) => {
    expect(conversationText(example)).toBe(text);
  });
});

test('a verdict of a conversation without tools is found again by its key, with tools it has another', async () => {
  const keysOf = async (example: Example) => {
    const folder = newFolder();
    const { access } = judgesThatSay(() => 'GRADE: C');
    const { grader, close } = await openWith(judgedGrader(modelGraded({ kind: 'qa' })), access, { folder });
    await grader.grade('It is 3', example);
    await close();
    return [...readFileSync(join(folder, 'judgements.jsonl'), 'utf8').matchAll(/"key":"([^"]+)"/g)].map(
      ([, key]) => key,
    );
  };
  const messages: Message[] = [asked, { role: 'assistant', content: 'To what?' }, asked];

  const plain = await keysOf({ ...CALLING, messages });
  expect(plain).toEqual(['733214310ca1ca2b32de27ff06ba0aad']);
  expect(await keysOf({ ...CALLING, messages, tools: TOOLS })).not.toEqual(plain);
});

test('a baseline is told of the tools of a row, and answers with its calls', async () => {
  const { access, asked: requests } = judgesThatSay((_request, model) =>
    model === 'base' ? { message: { role: 'assistant', content: '', toolCalls: [call(3)] } } : '[[A]]',
  );
  const opponent = sampledOpponent(judgeCalled('base'), undefined);
  const { grader, close } = await openWith(judgedGrader(pairwise({ opponent, by: 'judge' })), access);

  await grader.grade('It is 3', { ...CALLING, tools: TOOLS });
  await close();

  expect(requests[0]?.request.tools).toEqual(TOOLS);
  expect(requests[1]?.request).not.toHaveProperty('tools');
  expect(promptOf(requests[1]?.request ?? { messages: [] })).toContain(
    '[Answer A]: {"name": "add", "arguments": {"a":3}}\n',
  );
});
