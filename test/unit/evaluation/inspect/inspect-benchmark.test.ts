import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BenchmarkRequest, InspectTask } from '../../../../src/core/benchmark-run';
import { planInspect } from '../../../../src/evaluation/inspect/inspect-benchmark';
import { setUpInspect } from '../../../../src/evaluation/inspect/run/python-environment';

let folder: string;

/** In place of Python, in an environment that has a package of tasks; refuses as the launcher does where a file says so. */
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-inspect-plan-'));
  const python = path.join(folder, 'venv', 'bin', 'python');
  mkdirSync(path.dirname(python), { recursive: true });
  mkdirSync(packages('0.3.1'), { recursive: true });
  const script = [
    '#!/bin/sh',
    'if [ "$1" = -c ]; then echo 0.3.285; exit; fi',
    `if [ "$2" = --check ] && [ -e "${folder}/misspelt" ]; then echo "everstep: no argument cuont." >&2; exit 64; fi`,
  ];
  writeFileSync(python, script.join('\n'));
  chmodSync(python, 0o755);
  const setup = { variables: {}, extraPackages: [], onProgress: () => undefined };
  await setUpInspect({ ...setup, cacheFolder: folder, python });
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function packages(version: string): string {
  return path.join(
    folder,
    'venv',
    'lib',
    'python3.11',
    'site-packages',
    `Inspect_Evals-${version}.dist-info`,
  );
}

function plan(task: Partial<InspectTask>) {
  const inspectTask: InspectTask = { task: 'inspect-evals/gsm8k', args: {}, ...task };
  const request: BenchmarkRequest = {
    ...{ run: 'named', folder: path.join(folder, 'evals/named'), benchmark: 'inspect_gsm8k', inspectTask },
    model: { type: 'engine', model: 'everstep/tiny', path: 'tinker://a/1', label: 'run@1' },
    ...{ numSamples: 1, concurrency: 4, agentConcurrency: 2 },
  };
  const access = {
    ...{ cacheFolder: folder, variables: { PATH: '/usr/bin:/bin' }, readVariables: () => ({}) },
    requirePermission: () => undefined,
    serveModel: () => Promise.reject(new Error('nothing is served')),
  };
  const models = { promptFormat: () => 'role_colon' };
  return planInspect({ models, inspect: access, now: () => new Date() }, inspectTask, request);
}

test('a named run with another argument is refused with both values', async () => {
  await plan({ args: { count: 2 } });

  await expect(plan({ args: { count: 4 } })).rejects.toThrow('was begun with count 2, and 4 is asked for');
});

test('a package of another version is another grader', async () => {
  await plan({});
  renameSync(packages('0.3.1'), packages('0.4.0'));

  await expect(plan({})).rejects.toThrow(
    'the grader "inspect:inspect-evals/gsm8k 0.3.1", and "inspect:inspect-evals/gsm8k 0.4.0" is asked for',
  );
});

test('changed code of a task is refused', async () => {
  await plan({ source: 'aaaaaaaaaaaa' });

  await expect(plan({ source: 'bbbbbbbbbbbb' })).rejects.toThrow(
    'the code of the task (its hash) "aaaaaaaa", and "bbbbbbbb" is asked for',
  );
});

test('an argument that the task does not have is refused, and begins nothing', async () => {
  writeFileSync(path.join(folder, 'misspelt'), '');

  await expect(plan({ args: { cuont: 2 } })).rejects.toThrow('no argument cuont');

  expect(existsSync(path.join(folder, 'evals'))).toBe(false);
});
