import { readReply } from '../../../src/renderers/read-reply';

const message = { role: 'assistant', content: 'read' };

test('a reply that nobody comes to the end of has no proper end', () => {
  const endless = () => {
    for (;;);
  };
  expect(readReply('text', 'stop_sequence', endless)).toEqual({
    message: { role: 'assistant', content: 'text' },
    termination: 'malformed',
  });
  expect(readReply('text', 'eos', () => ({ message }))).toEqual({ message, termination: 'eos' });
});

test('what has no proper end is not read', () => {
  expect(readReply('text', 'malformed', () => ({ message }))).toEqual({
    message: { role: 'assistant', content: 'text' },
    termination: 'malformed',
  });
});
