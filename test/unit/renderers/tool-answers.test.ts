import type { Message } from '../../../src/core/conversation';
import { matchToolAnswers, orderToolAnswers } from '../../../src/renderers/tool-answers';

// By the square of these, neither would come to its end in the time of a test.
const MANY = 100_000;

test('very many messages without a tool are passed through', () => {
  const messages: Message[] = Array.from({ length: MANY }, (_, index) => ({
    role: 'user',
    content: `q${index}`,
  }));

  expect(orderToolAnswers(messages)).toEqual(messages);
});

test('answers to very many calls of one reply are put into the order of the calls, and get their names', () => {
  const ids = Array.from({ length: MANY }, (_, index) => `call-${index}`);
  const reply: Message = {
    role: 'assistant',
    content: '',
    toolCalls: ids.map((id) => ({ id, name: `f-${id}`, arguments: '{}' })),
  };
  const answers = ids.map((id): Message => ({ role: 'tool', content: id, toolCallId: id }));
  const messages = [reply, ...answers.toReversed()];

  expect(orderToolAnswers(messages)).toEqual([reply, ...answers]);
  expect(
    matchToolAnswers(messages)
      .slice(1)
      .every(({ name, content }) => content === name?.slice(2)),
  ).toBe(true);
});
