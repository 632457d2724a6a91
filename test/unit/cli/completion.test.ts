import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { COMMANDS } from '../../../src/cli/command-list';
import { completionPlaces } from '../../../src/cli/completion/completion-places';
import { bashScript, fishScript, zshScript } from '../../../src/cli/completion/completion-scripts';
import { createProgram } from '../../../src/cli/main';

const PLACES = completionPlaces(createProgram('completion'));

test('every command is a place, with the words and options of its help', () => {
  const runs = PLACES.find((place) => place.path === '/runs');

  expect(PLACES[0]?.commands.map(({ name }) => name)).toEqual([...COMMANDS.map(({ name }) => name), 'help']);
  expect(runs?.commands.map(({ name }) => name)).toEqual(expect.arrayContaining(['list', 'show', 'set']));
  expect(PLACES.find((place) => place.path === '/runs/set')?.options).toContainEqual(
    expect.objectContaining({ name: '--at-step', takesValue: true }),
  );
  expect(JSON.stringify(PLACES)).not.toContain('--headless');
});

test('no summary is cut within an abbreviation or a pair of brackets', () => {
  const summaries = PLACES.flatMap(({ commands, options }) => [...commands, ...options]).map(
    ({ summary }) => summary,
  );

  expect(summaries).toContain('only what is older, too, e.g. 12h or 30d');
  const isCut = (summary: string) =>
    /\b(e\.g|i\.e)$/.test(summary) ||
    summary.split('(').length !== summary.split(')').length ||
    summary.split('"').length % 2 === 0 ||
    summary.split('`').length % 2 === 0;
  expect(summaries.filter(isCut)).toEqual([]);
});

describe('in bash', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'completion-'));
    writeFileSync(path.join(folder, 'everstep.bash'), bashScript(PLACES));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  function complete(...words: string[]): string[] {
    const program =
      'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _everstep; echo "${COMPREPLY[@]}"';
    const args = ['--norc', '-c', program, path.join(folder, 'everstep.bash'), 'everstep', ...words];
    return execFileSync('bash', args, { encoding: 'utf8' }).split(/\s+/).filter(Boolean);
  }

  test.each([
    ['the start of a command', ['ru'], ['runs']],
    ['the start of a subcommand', ['runs', 's'], ['show', 'scores', 'stop', 'set']],
    ['an option of a subcommand', ['runs', 'set', 'mine', '--at'], ['--at-step']],
    ['after an option with a value', ['runs', 'stop', '--reason', 'dull', 'mine', '--y'], ['--yes']],
    ['nothing where a name or a file is meant', ['train', ''], []],
  ])('completes %s', (_what, words, expected) => {
    expect(complete(...words).sort()).toEqual([...expected].sort());
  });
});

test('in zsh each word has its summary, with quotes as the shell reads them', () => {
  const script = zshScript(PLACES);

  expect(script).toMatch(/^#compdef everstep everstep\.js\n/);
  expect(script).toContain("'train:start a training run and follow it'");
  expect(script).toContain(String.raw`'import:turn another tool'\''s config into one of everstep'`);
});

test('in fish each word is offered at its place alone', () => {
  const script = fishScript(PLACES);

  expect(script).toContain(
    `complete -c everstep -n '__everstep_at ""' -f -a train -d 'start a training run and follow it'`,
  );
  expect(script).toContain(String.raw`-a import -d 'turn another tool\'s config into one of everstep'`);
  expect(script).toMatch(/-n '__everstep_at "\/runs\/set"' -l at-step -r -d/);
});
