import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { setUpInspect } from '../../../src/evaluation/inspect/run/python-environment';
import { checkEvaluators } from '../../../src/training/check-evaluators';
import { createPluginLoader } from '../../../src/training/plugin-file';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-check-evaluators-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** In place of Python: refuses as the launcher does. */
async function setUp(): Promise<void> {
  const python = path.join(folder, 'python');
  const script = [
    '#!/bin/sh',
    'if [ "$1" = -c ]; then echo 0.3.285; exit; fi',
    `touch ${folder}/asked`,
    'echo "everstep: inspect:$4 has no argument cuont. Did you mean count?" >&2; exit 64',
  ];
  writeFileSync(python, script.join('\n'));
  chmodSync(python, 0o755);
  const setup = { variables: {}, extraPackages: [], onProgress: () => undefined };
  await setUpInspect({ ...setup, cacheFolder: folder, python });
}

function check(args: Record<string, unknown>): Promise<void> {
  const evaluator = EvaluatorConfig.parse({
    type: 'inspect',
    tasks: [{ task: 'inspect_evals/gsm8k', args }],
  });
  const inspect = {
    ...{ cacheFolder: folder, variables: { PATH: '/usr/bin:/bin' }, readVariables: () => ({}) },
    requirePermission: () => undefined,
    serveModel: () => Promise.reject(new Error('nothing is served')),
  };
  return checkEvaluators(createPluginLoader(), { inspect })([evaluator], undefined);
}

test('an argument that a task does not have is refused before the first step', async () => {
  await setUp();

  await expect(check({ cuont: 2 })).rejects.toMatchObject({
    code: 'bad-config',
    message: 'inspect:inspect_evals/gsm8k has no argument cuont. Did you mean count?',
  });
});

test('Python is not started for a task of a package without arguments', async () => {
  await setUp();

  await check({});

  expect(existsSync(path.join(folder, 'asked'))).toBe(false);
});

test('without an environment here another machine may have one', async () => {
  await expect(check({ cuont: 2 })).resolves.toBeUndefined();
});
