import { execFileSync } from 'node:child_process';
import { shellWord } from '../../../src/core/shell-word';

test.each([
  ['/plain/path-1.eval', '/plain/path-1.eval'],
  ['/a folder/logs', "'/a folder/logs'"],
  ["it's $HOME", String.raw`'it'\''s $HOME'`],
  ['', "''"],
])('%j is shown as a shell reads it back', (word, shown) => {
  expect(shellWord(word)).toBe(shown);
  expect(execFileSync('sh', ['-c', `printf %s ${shown}`], { encoding: 'utf8' })).toBe(word);
});
