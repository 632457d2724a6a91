import { messageWithPlace, thrownAt } from '../../../src/evaluation/thrown-at';

test('the message, however it is written, is no part of where something was thrown', () => {
  const error = new Error(`${'\n'.repeat(500_000)}.\n at home`);
  error.stack = `Error: ${error.message}\n    at grade (/home/me/plug-in.js:3:5)`;
  expect(thrownAt(error)).toContain('plug-in.js:3');
  expect(messageWithPlace(error)).toContain('plug-in.js:3');
});
