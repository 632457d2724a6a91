import { Command } from 'commander';
import { parseJudges } from '../../../src/config/judge-config';
import type { JudgeFlags } from '../../../src/cli/commands/judge-options';
import {
  addJudgeOptions,
  judgesFrom,
  judgesWithSettings,
  refuseUnjudged,
} from '../../../src/cli/commands/judge-options';

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

test('answers are judged again with settings of a judge, as evaluations set them', () => {
  const judges = judgesWithSettings(
    [{ model: 'a' }, { model: 'b', endpoint: 'http://h/v1' }],
    ['judge.0.votes=3', 'judge.1.temperature=0.5', 'judge.1.cache=false'],
  );

  expect(judges).toMatchObject([
    { model: 'a', votes: 3, temperature: 0, cache: true },
    { model: 'b', votes: 1, temperature: 0.5, cache: false, endpoint: 'http://h/v1' },
  ]);
});

test.each([
  ['temperature=1', '--set temperature=1: only what a judge is asked with can be set here.'],
  ['judge.votes=3', 'only what a judge is asked with can be set here.'],
  ['judge.0.model=b', '--set judge.0.model=b: model is given by its option too.'],
  ['judge.0.vots=3', 'judge.0: Unrecognized key: "vots"'],
  ['judge.0.votes=0', 'judge.0.votes'],
  ['judge.5.votes=2', '--set judge.5.votes=2'],
])('of a judge --set %s is refused', (override, told) => {
  expect(() => judgesWithSettings([{ model: 'a' }], [override])).toThrow(told);
});
