/**
 * Trains under disturbances drawn from a seed and compares what each run leaves with what an undisturbed one leaves.
 *
 *     npm run chaos -- [--kind train|rl|eval] [--runs N] [--seed S] [--steps n] [--events a,b] [--minutes m] [--program folder] [--keep]
 *
 * `--kind rl` trains by reinforcement, in turns, in parts and ahead; `--kind eval` disturbs evaluations instead, which have
 * events of their own and no steps.
 * `--minutes` ends after the run under way; `--program` is a checkout other than this one. Ends with 1 where a run differs, and says how to repeat it.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { copyBuilds } from './builds';
import { drawPlan, runChaos, runReference } from './chaos-run';
import type { Reference, Setting, Verdict } from './chaos-run';
import type { Variant } from './configs';
import { RL_VARIANTS, VARIANTS } from './configs';
import { runEvalSeeds } from './eval-main';
import { unmountLeftovers, whyNoSmallDisk } from './disk';
import type { EventKind } from './events';
import { describeEvent, EVENT_KINDS } from './events';
import { describeLine, printTable } from './report';

const PREFIX = 'everstep-chaos-';

const OPTIONS = {
  kind: { type: 'string', default: 'train' },
  runs: { type: 'string', default: '5' },
  seed: { type: 'string', default: '1' },
  steps: { type: 'string' },
  events: { type: 'string', default: '' },
  minutes: { type: 'string', default: '0' },
  program: { type: 'string', default: path.join(__dirname, '..', '..') },
  keep: { type: 'boolean', default: false },
} as const;
const USAGE =
  'npm run chaos -- [--kind train|rl|eval] [--runs N] [--seed S] [--steps n] [--events a,b] [--minutes m] [--program folder] [--keep]';

const values = readOptions();
const steps = wholeNumber('steps', values.steps ?? (values.kind === 'rl' ? '30' : '100'));

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\nUsage: ${USAGE}`);
    process.exit(2);
  }
}

async function main(): Promise<number> {
  removeLeftovers();
  if (values.kind === 'eval') return evaluations();
  if (values.kind !== 'train' && values.kind !== 'rl')
    throw new Error(`--kind is "${values.kind}". Known: train, rl, eval.`);
  const kinds = chooseKinds();
  const folder = mkdtempSync(path.join(os.tmpdir(), `${PREFIX}${process.pid}-`));
  const builds = copyBuilds(path.resolve(values.program), path.join(folder, 'builds'));
  const verdicts = await runAll({ folder, builds }, kinds);
  printTable(verdicts);
  const failed = verdicts.filter(({ problems }) => problems.length > 0);
  for (const { plan } of failed) {
    const events = values.events === '' ? '' : ` --events ${values.events}`;
    const kind = values.kind === 'rl' ? '--kind rl ' : '';
    console.log(`Repeat: npm run chaos -- ${kind}--runs 1 --seed ${plan.seed} --steps ${steps}${events}`);
  }
  if (failed.length > 0 || values.keep) console.log(`Folders and logs: ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
  return failed.length > 0 ? 1 : 0;
}

function evaluations(): Promise<number> {
  return runEvalSeeds({
    runs: wholeNumber('runs', values.runs),
    seed: wholeNumber('seed', values.seed),
    events: values.events.split(',').filter((name) => name !== ''),
    minutes: Number(values.minutes),
    program: values.program,
    keep: values.keep,
  });
}

async function runAll({ folder, builds }: Setting, kinds: readonly EventKind[]): Promise<Verdict[]> {
  const minutes = Number(values.minutes);
  const deadline = minutes > 0 ? performance.now() + minutes * 60_000 : Infinity;
  const references = new Map<Variant, Reference>();
  const variants = values.kind === 'rl' ? RL_VARIANTS : VARIANTS;
  const verdicts: Verdict[] = [];
  const inFolder = async <Result>(
    name: string,
    run: (setting: Setting) => Promise<Result>,
  ): Promise<Result> => {
    const place = path.join(folder, name);
    mkdirSync(place);
    return run({ folder: place, builds });
  };
  for (let index = 0; index < wholeNumber('runs', values.runs) && performance.now() < deadline; index++) {
    const plan = drawPlan(wholeNumber('seed', values.seed) + index, kinds, { steps, variants });
    const { variant, seed } = plan;
    const reference =
      references.get(variant) ??
      (await inFolder(`reference-${variant}`, (setting) => runReference(setting, variant, steps)));
    references.set(variant, reference);
    process.stderr.write(`seed ${seed} ${variant}: ${plan.events.map(describeEvent).join(', ')}\n`);
    const verdict = await inFolder(`seed-${seed}`, (setting) => runChaos(setting, plan, reference));
    verdicts.push(verdict);
    process.stderr.write(`${describeLine(verdict)}\n`);
    if (verdict.problems.length === 0 && !values.keep)
      rmSync(path.join(folder, `seed-${seed}`), { recursive: true });
  }
  return verdicts;
}

function chooseKinds(): EventKind[] {
  const asked = values.events.split(',').filter((name) => name !== '');
  const unknown = asked.filter((name) => !EVENT_KINDS.some((kind) => kind === name));
  if (unknown.length > 0)
    throw new Error(`--events: unknown ${unknown.join(', ')}. Known: ${EVENT_KINDS.join(', ')}.`);
  const kinds = EVENT_KINDS.filter((kind) => asked.length === 0 || asked.includes(kind));
  const obstacle = kinds.includes('disk-full') ? whyNoSmallDisk() : null;
  if (obstacle === null) return kinds;
  console.log(`Not covered: disk-full (${obstacle}).`);
  return kinds.filter((kind) => kind !== 'disk-full');
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1) return number;
  throw new Error(`--${name} is "${text}". Give a whole number, 1 or more.`);
}

/** Disks of this harness and of those that were killed. */
function removeLeftovers(): void {
  unmountLeftovers((place) => {
    const pid = Number(new RegExp(`${PREFIX}(\\d+)-`).exec(place)?.[1]);
    return pid > 0 && (pid === process.pid || !existsSync(`/proc/${pid}`));
  });
}

process.once('exit', removeLeftovers);
for (const [name, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(name, () => process.exit(code));
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
