import { refuseHalfCharacters } from '../../../../src/server/gateway/half-characters';

test.each([
  ['prompt', { model: 'm', prompt: ['a', 'b\ud800'] }],
  ['stop', { prompt: 'a', stop: '\udc00' }],
  ['messages', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x\ud83d y' }] }] }],
])('half of a character is refused where it stands, in %s', (param, body) => {
  expect(() => {
    refuseHalfCharacters(body);
  }).toThrow(expect.objectContaining({ status: 400, param }) as Error);
});

test('whole characters pass, whatever they are', () => {
  expect(() => {
    refuseHalfCharacters({ prompt: ['😀 \u0000 \ufffd', [1, 2]], stop: null, n: 2 });
  }).not.toThrow();
});
