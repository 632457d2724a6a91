/**
 * Environments in Python: the one of examples/python-worker and those of the package `verifiers`, trained on by a stack of
 * its own. A worker that is killed costs no sampled token, because what the model said is played again.
 */
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { findStack } from '../../src/stack/stack-record';
import type { Site } from './engine-suite';
import { openExample } from './environments';
import { PROGRAM, ROOT, startProgram, stopChild } from './processes';
import type { CheckResult, ClientResult } from './results';
import { failed, skipped, tryInTurn } from './results';
import type { Workplace } from './worker-suite';
import { everstepJson, placeFlags, sampledBy, startWorker, until } from './worker-suite';

const PYTHON = path.join(ROOT, 'examples/python-worker');
const VERIFIERS = path.join(ROOT, 'examples/verifiers');

const Shown = z.object({
  status: z.string(),
  finalWeightsDigest: z.string().nullable(),
  waitingFor: z.string().nullish(),
});

export async function checkPythonEnvironments(site: Site): Promise<ClientResult> {
  const environment = await openExample(path.join(VERIFIERS, 'requirements.txt'), (what) => {
    site.onProgress(`Installing ${what} from PyPI (first use)…`);
  }).catch((error: unknown) => String(error).slice(0, 800));
  if (typeof environment === 'string') {
    const check = (site.allowSkip ? skipped : failed)('environment', environment);
    site.onCheck(check);
    return { client: 'python environments', checks: [check] };
  }
  const folder = path.join(site.folder, 'python-environments');
  await mkdir(folder, { recursive: true });
  site.onProgress(`${environment.name}:`);
  const words = ['dev', '--headless', '--data-dir', path.join(folder, 'state')];
  const stack = await startProgram([process.execPath, PROGRAM, ...words], 'Ctrl-C');
  try {
    const record = findStack(path.join(folder, 'state'));
    if (!record) throw new Error('The stack left no record.');
    const { temporalAddress: address, engineUrl } = record;
    const place = { folder, python: environment.python, address, engineUrl };
    return { client: environment.name, checks: await runChecks(site, place) };
  } finally {
    await stopChild(stack);
  }
}

function runChecks(site: Site, place: Workplace): Promise<CheckResult[]> {
  return tryInTurn(site, [
    ['a name that no worker has is refused before the first step', () => refusesUnknownName(place)],
    ['a run waits for its worker and says so', () => waits(place)],
    ['an environment whose worker is killed costs no token', () => survivesKill(place)],
    ['an environment of verifiers, by id and arguments', () => trainsOnVerifiers(place)],
  ]);
}

async function refusesUnknownName(place: Workplace): Promise<string> {
  return withWorker(place, path.join(PYTHON, 'worker.py'), async () => {
    const words = trainWords(place, 'nobody', path.join(PYTHON, 'guess.yaml'));
    const refusal = await everstepJson([...words, '--set', 'environment.environment=nobody']).then(
      () => 'it was taken',
      (error: unknown) => String(error),
    );
    if (!refusal.includes('has no environment "nobody"')) throw new Error(refusal);
    return 'It has: guess';
  });
}

async function waits(place: Workplace): Promise<string> {
  const worker = await startWorker(place, [path.join(PYTHON, 'worker.py')]);
  const words = trainWords(place, 'patient', path.join(PYTHON, 'guess.yaml'));
  const training = everstepJson([...words, '--set', 'steps=40', '--set', 'evalEvery=0']);
  training.catch(() => undefined);
  try {
    await until(
      async () => (await groupCount(place, 'patient')) > 4,
      () => 'nothing was sampled',
    );
  } finally {
    worker.kill('SIGKILL');
  }
  let said = '';
  await until(
    async () => {
      const shown = await everstepJson(['runs', 'show', 'patient', ...placeFlags(place), '--json']);
      said = JSON.stringify(shown);
      return said.includes('everstep-python');
    },
    () => `it said ${said.slice(0, 400)}`,
  );
  return withWorker(place, path.join(PYTHON, 'worker.py'), async () => {
    const { status } = Shown.parse(await training);
    if (status !== 'completed') throw new Error(status);
    return 'and goes on when there is one';
  });
}

/** The same run twice: once in peace, once with a worker that is killed. */
async function survivesKill(place: Workplace): Promise<string> {
  const script = path.join(PYTHON, 'worker.py');
  const workers: ChildProcess[] = [await startWorker(place, [script])];
  try {
    const peaceful = await sampledBy(place, () => train(place, 'peace', path.join(PYTHON, 'guess.yaml')));
    const killed = await sampledBy(place, async () => {
      const training = train(place, 'killed', path.join(PYTHON, 'guess.yaml'));
      for (const count of [3, 14]) {
        await until(
          async () => (await groupCount(place, 'killed')) >= count,
          () => 'nothing was sampled',
        );
        workers.at(-1)?.kill('SIGKILL');
        workers.push(await startWorker(place, [script]));
      }
      return training;
    });
    const [one, other] = [peaceful.answer, killed.answer].map((answer) => Shown.parse(answer));
    if (one?.finalWeightsDigest !== other?.finalWeightsDigest || other?.status !== 'completed')
      throw new Error(`in peace ${JSON.stringify(one)}, killed ${JSON.stringify(other)}`);
    if (killed.tokens !== peaceful.tokens)
      throw new Error(`${killed.tokens} tokens sampled instead of ${peaceful.tokens}`);
    return `${killed.tokens} tokens sampled both times, the same weights`;
  } finally {
    for (const worker of workers) await stopChild(worker);
  }
}

async function trainsOnVerifiers(place: Workplace): Promise<string> {
  return withWorker(place, path.join(VERIFIERS, 'worker.py'), async () => {
    await train(place, 'verified', path.join(VERIFIERS, 'train.yaml'));
    const file = path.join(place.folder, 'state/store/runs/verified/scores.jsonl');
    const rows = (await readFile(file, 'utf8')).trim().split('\n');
    const found = new Set(rows.map((row) => ScoreKey.parse(JSON.parse(row)).key));
    const wanted = ['reward/total', 'correct', 'is_number', 'num_turns'];
    const keys = wanted.flatMap((key) => [`test/env/all/${key}`, `test/env/all/${key}/std`]);
    const missing = keys.filter((key) => !found.has(key));
    if (missing.length > 0) throw new Error(`no ${missing.join(', ')} among ${[...found].join(', ')}`);
    return `mean and deviation of ${wanted.join(', ')}`;
  });
}

const ScoreKey = z.object({ key: z.string() });

async function withWorker(place: Workplace, script: string, run: () => Promise<string>): Promise<string> {
  const worker = await startWorker(place, [script]);
  try {
    return await run();
  } finally {
    await stopChild(worker);
  }
}

function train(place: Workplace, run: string, file: string): Promise<unknown> {
  return everstepJson(trainWords(place, run, file));
}

function trainWords(place: Workplace, run: string, file: string): string[] {
  return ['train', file, '--run', run, ...placeFlags(place), '--json'];
}

async function groupCount({ folder }: Workplace, run: string): Promise<number> {
  const rollouts = path.join(folder, 'state/store/runs', run, 'rollouts');
  if (!existsSync(rollouts)) return 0;
  const names = await readdir(rollouts, { recursive: true });
  return names.filter((name) => /\/\d+\.jsonl$/.test(name)).length;
}
