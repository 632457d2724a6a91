import { Command } from 'commander';
import { parseJudges } from '../../../src/config/judge-config';
import type { JudgeFlags } from '../../../src/cli/commands/judge-options';
import { addJudgeOptions, judgesFrom, refuseUnjudged } from '../../../src/cli/commands/judge-options';

function parse(...words: string[]) {
  const command = new Command('eval').exitOverride();
  addJudgeOptions(command);
  command.parse(words, { from: 'user' });
  return judgesFrom(command.opts<JudgeFlags>());
}

test.each([
  [['--judge', 'gpt'], [{ model: 'gpt' }]],
  [['--judge', 'gpt', '--judge-endpoint', 'http://h/v1'], [{ model: 'gpt', endpoint: 'http://h/v1' }]],
  [['--judge', 'org/gpt@http://h/v1'], [{ model: 'org/gpt', endpoint: 'http://h/v1' }]],
  [
    ['--judge', 'a', '--judge', 'b', '--judge-engine', 'http://e'],
    [
      { model: 'a', engine: 'http://e' },
      { model: 'b', engine: 'http://e' },
    ],
  ],
  [['--judge-checkpoint', 'run@5'], [{ checkpoint: 'run@5' }]],
  [[], null],
])('%j names %j', (words, judges) => {
  expect(parse(...words)).toEqual(judges);
});

test('a config names judges as the command line does', () => {
  expect(parseJudges(['mock@http://h/v1', 'gpt'])).toMatchObject([
    { model: 'mock', endpoint: 'http://h/v1' },
    { model: 'gpt' },
  ]);
  expect(parseJudges('someone@example.org/x')).toMatchObject([{ model: 'someone@example.org/x' }]);
  expect(() => parseJudges('mock@http://user:secret@h/v1')).toThrow('no user or password');
});

test('a place without a judge is refused', () => {
  expect(() => parse('--judge-endpoint', 'http://h/v1')).toThrow(/--judge MODEL/);
});

test('a benchmark that is judged is refused without a judge, others are not', () => {
  expect(() => {
    refuseUnjudged(['gsm8k', 'arena-hard'], {});
  }).toThrow(/arena_hard is judged by a model/);
  expect(() => {
    refuseUnjudged(['gsm8k'], {});
    refuseUnjudged(['arena_hard'], { judge: 'gpt' });
  }).not.toThrow();
});

test('a judge that nothing would ask is refused, and one that a plug-in file may ask is not', () => {
  expect(() => {
    refuseUnjudged(['gsm8k', 'math500'], { judge: 'gpt' });
  }).toThrow(/^--judge: none of gsm8k, math500 is judged by a model\. .*arena_hard/);
  expect(() => {
    refuseUnjudged(['gsm8k', 'arena_hard'], { judge: 'gpt' });
    refuseUnjudged(['mine'], { judge: 'gpt', plugins: 'everstep.config.ts' });
    refuseUnjudged([], { judge: 'gpt' });
  }).not.toThrow();
});
