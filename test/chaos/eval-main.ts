import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { copyBuilds } from './builds';
import type { EvalEventKind } from './eval-events';
import { describeEvalEvent, drawEvalEvents, EVAL_EVENT_KINDS } from './eval-events';
import type { EvalVerdict } from './eval-run';
import { runEvalChaos, runEvalReference } from './eval-run';

export interface EvalChaosOrder {
  readonly runs: number;
  readonly seed: number;
  /** Names of events; none are all. */
  readonly events: readonly string[];
  /** 0: no limit. */
  readonly minutes: number;
  readonly program: string;
  readonly keep: boolean;
}

const PREFIX = 'everstep-chaos-eval-';
const SIZE = { examples: 3000, concurrency: 64, delayMs: 300 } as const;
const EVENTS_A_RUN = 6;

/** Evaluations under disturbances drawn from seeds. Resolves with the exit code. */
export async function runEvalSeeds(order: EvalChaosOrder): Promise<number> {
  const kinds = chooseKinds(order.events);
  const folder = mkdtempSync(path.join(os.tmpdir(), `${PREFIX}${process.pid}-`));
  const builds = copyBuilds(path.resolve(order.program), path.join(folder, 'builds'));
  const settingOf = (name: string) => {
    mkdirSync(path.join(folder, name));
    return { ...SIZE, folder: path.join(folder, name), builds };
  };
  const deadline = order.minutes > 0 ? performance.now() + order.minutes * 60_000 : Infinity;
  const reference = await runEvalReference(settingOf('reference'));
  const failed: number[] = [];
  let count = 0;
  for (; count < order.runs && performance.now() < deadline; count++) {
    const seed = order.seed + count;
    const events = drawEvalEvents({ seed, kinds, examples: SIZE.examples, count: EVENTS_A_RUN });
    process.stderr.write(`seed ${seed}: ${events.map(describeEvalEvent).join(', ')}\n`);
    const verdict = await runEvalChaos(settingOf(`seed-${seed}`), events, reference);
    console.log(describe(seed, verdict));
    if (verdict.problems.length > 0) failed.push(seed);
    else if (!order.keep) rmSync(path.join(folder, `seed-${seed}`), { recursive: true });
  }
  console.log(`${count} evaluations, ${failed.length} differ from the undisturbed one.`);
  for (const seed of failed) console.log(`Repeat: npm run chaos -- --kind eval --runs 1 --seed ${seed}`);
  if (failed.length > 0 || order.keep) console.log(`Folders and logs: ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
  return failed.length > 0 ? 1 : 0;
}

function chooseKinds(names: readonly string[]): EvalEventKind[] {
  const unknown = names.filter((name) => !EVAL_EVENT_KINDS.some((kind) => kind === name));
  if (unknown.length > 0)
    throw new Error(`--events: unknown ${unknown.join(', ')}. Known: ${EVAL_EVENT_KINDS.join(', ')}.`);
  return EVAL_EVENT_KINDS.filter((kind) => names.length === 0 || names.includes(kind));
}

function describe(seed: number, verdict: EvalVerdict): string {
  const { events, seconds, extra, allowance, refused, commands, problems, notes } = verdict;
  return [
    `seed ${seed}: ${problems.length === 0 ? 'equal' : `${problems.length} PROBLEMS`}, ${seconds.toFixed(0)} s, ${events.length} events,`,
    `${extra} requests asked again (${allowance} may be), ${refused} refused, commands given ${commands} times`,
    ...problems.map((problem) => `\n  ${problem}`),
    ...notes.map((note) => `\n  note: ${note}`),
  ].join(' ');
}
