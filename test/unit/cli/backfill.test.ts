import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCommand } from '../../../src/cli/commands/backfill';
import { createRunStore } from '../../../src/stores/run-store';
import { stateOf } from '../server/serving';

let folder: string;
const home = () => join(folder, 'home');

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-backfill-'));
  const run = join(folder, 'store', 'runs', 'mine');
  mkdirSync(run, { recursive: true });
  const config = { kind: 'sft', model: 'everstep/tiny', engine: { url: 'http://127.0.0.1:9' } };
  writeFileSync(join(run, 'config.json'), JSON.stringify({ run: 'mine', config, evaluators: {} }));
  await createRunStore(join(folder, 'store')).writeState('mine', stateOf('mine'));
  const row = {
    name: 'step-5',
    batch: 5,
    step: 5,
    lineage: 0,
    state_path: null,
    sampler_path: 'tinker://a/b',
  };
  writeFileSync(join(run, 'checkpoints.jsonl'), `${JSON.stringify(row)}\n`);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function backfill(...words: readonly string[]): Promise<unknown> {
  const places = ['--store', join(folder, 'store'), '--data-dir', home()];
  const asked = ['--runs', 'mine', '--benchmarks', 'arena_hard'];
  return createCommand()
    .exitOverride()
    .parseAsync([...asked, ...words, ...places], { from: 'user' });
}

test('a judge where nobody listens is refused before anything is started', async () => {
  await expect(backfill('--judge', 'j', '--judge-endpoint', 'http://127.0.0.1:1/v1')).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(
      /^judge: The endpoint at http:\/\/127\.0\.0\.1:1\/v1 cannot be reached .* Nothing was started/,
    ) as string,
  });
  expect(existsSync(home())).toBe(false);
});

test('a task of Inspect AI is a column, and commas in its arguments separate nothing', async () => {
  const file = join(folder, 'sums.py');
  writeFileSync(file, '# tasks');
  const task = `inspect:${file}@sums?counts=[1,2]&model-role=grader={model: m, temperature: 0}`;
  const written: string[] = [];
  const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });

  await backfill('--benchmarks', `arithmetic,${task}`, '--max-examples', '3', '--dry-run', '--json');
  write.mockRestore();

  const cell = { run: 'mine', step: 5, status: 'missing', reason: null };
  expect(JSON.parse(written.join(''))).toMatchObject({
    cells: [
      { ...cell, benchmark: 'arithmetic' },
      { ...cell, benchmark: 'inspect_sums' },
    ],
  });
});

test('a task whose file is not there is refused', async () => {
  await expect(backfill('--benchmarks', 'inspect:/nowhere/sums.py@sums', '--dry-run')).rejects.toThrow(
    'there is no file /nowhere/sums.py',
  );
});

test('an evaluator of a run is no benchmark, and the refusal names the command that runs it', async () => {
  await expect(backfill('--benchmarks', 'facts', '--dry-run')).rejects.toThrow(
    'everstep eval --evaluator facts --checkpoint RUN@STEP',
  );
});

test('a benchmark that a model judges is refused without a judge', async () => {
  await expect(backfill()).rejects.toThrow(/judge/);
});
