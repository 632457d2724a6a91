import { escapeControls, escapeInJson } from '../../../src/core/escape-controls';

test.each([
  ['\u001b[2J', '\\x1b[2J'],
  ['a\u061cb', 'a\\u061cb'],
  ['a\u00adb', 'a\\xadb'],
  ['a\u206eb\ufff9c', 'a\\u206eb\\ufff9c'],
  ['a\u{e0041}\u{e007f}b', 'a\\u{e0041}\\u{e007f}b'],
  ['\u115f\u3164\u180e', '\\u115f\\u3164\\u180e'],
])('what orders or hides text becomes visible: %j', (text, shown) => {
  expect(escapeControls(text)).toBe(shown);
});

test.each(['naïve – 字 👍🏽 ❤\ufe0f', 'שלום', '\ud800 alone'])('what is shown stays: %s', (text) => {
  expect(escapeControls(text)).toBe(text);
});

test('as JSON it is the same text', () => {
  const value = { name: 'a\u061c\u{e0041}\u009f', lines: ['one\ntwo'] };
  const json = escapeInJson(JSON.stringify(value, null, 2));

  expect(json).toMatch(/^[\u0020-\u007e\n]+$/);
  expect(JSON.parse(json)).toEqual(value);
});
