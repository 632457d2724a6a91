import { hash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { RUN } from './site';
import type { Site } from './site';

/** What a run leaves, an aspect a list of lines, without what may differ: times, and where the engine keeps things. */
export type Outcome = Readonly<Record<Aspect, readonly string[]>>;
type Aspect =
  | 'status'
  | 'weights'
  | 'metrics'
  | 'scores'
  | 'scores-command'
  | 'checkpoints'
  | 'rollouts'
  | 'cells'
  | 'answers';

interface Shown {
  readonly status: string;
  readonly step: number;
  readonly totalSteps: number;
  readonly finalWeightsDigest: string | null;
  readonly rewinds: number;
  readonly stepsReplayed: number;
}

export interface Observed {
  readonly outcome: Outcome;
  readonly rewinds: number;
  readonly stepsReplayed: number;
}

type Row = Readonly<Record<string, unknown>>;

/** Attributes of a checkpoint that name one life of the model and no logical fact. */
const PHYSICAL = ['state_path', 'sampler_path', 'lineage', 'incarnation'];
const CLOCK = ['at', 'time_seconds', 'created', 'model'];

export async function observe(site: Site): Promise<Observed> {
  const shown = JSON.parse(await site.command('runs', 'show', RUN, '--json')) as Shown;
  const told = JSON.parse(await site.command('runs', 'scores', RUN, '--json')) as { scores: Row[] };
  const state = site.state();
  return {
    rewinds: shown.rewinds,
    stepsReplayed: shown.stepsReplayed,
    outcome: {
      status: [
        shown.status,
        `state.json ${state?.status ?? 'missing'}`,
        `${shown.step} of ${shown.totalSteps}`,
      ],
      weights: [shown.finalWeightsDigest ?? 'none', state?.finalWeightsDigest ?? 'none'],
      metrics: site.read('metrics.jsonl').split('\n'),
      scores: rowsOf(site.read('scores.jsonl'), ['at']).sort(),
      'scores-command': told.scores.map((row) => textOf(row, ['at'])).sort(),
      checkpoints: rowsOf(site.read('checkpoints.jsonl'), PHYSICAL),
      rollouts: readRollouts(site),
      ...readCells(path.join(site.runFolder, 'evals'), site),
    },
  };
}

/** What each group was, bit by bit. */
function readRollouts(site: Site): string[] {
  return list(path.join(site.runFolder, 'rollouts')).flatMap((step) =>
    list(path.join(site.runFolder, 'rollouts', step))
      .filter((name) => name.endsWith('.jsonl'))
      .map(
        (name) => `${step}/${name} ${hash('sha256', site.read(path.join('rollouts', step, name)), 'hex')}`,
      ),
  );
}

function readCells(folder: string, site: Site): Pick<Outcome, 'cells' | 'answers'> {
  const cells: string[] = [];
  const answers: string[] = [];
  for (const step of list(folder)) {
    for (const evaluator of list(path.join(folder, step))) {
      const name = `${step}/${evaluator}`;
      const read = (file: string): string => site.read(path.join('evals', step, evaluator, file));
      const cell = read('cell.json');
      cells.push(`${name} ${cell === '' ? 'no cell.json' : textOf(JSON.parse(cell) as Row, CLOCK)}`);
      for (const row of rowsOf(read('trajectories.jsonl'), CLOCK)) answers.push(`${name} ${row}`);
    }
  }
  return { cells: cells.sort(), answers: answers.sort() };
}

function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

function rowsOf(text: string, without: readonly string[]): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => textOf(JSON.parse(line) as Row, without));
}

function textOf(row: Row, without: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(Object.entries(row).filter(([key]) => !without.includes(key))));
}
