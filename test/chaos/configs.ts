import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const DATA = path.join(__dirname, '..', '..', 'data', 'arithmetic');

/** Ways to train that differ in what a rewind meets; each has a reference run of its own. */
export const VARIANTS = ['background', 'blocking', 'rolling'] as const;
/** Ways to train by reinforcement: in turns, in parts, and ahead. */
export const RL_VARIANTS = ['rl-turns', 'rl-parts', 'rl-ahead'] as const;
type SupervisedVariant = (typeof VARIANTS)[number];
type ReinforcementVariant = (typeof RL_VARIANTS)[number];
export type Variant = SupervisedVariant | ReinforcementVariant;

/** Which weights sample ahead depends on time, so such a run leaves no other's weights. */
export function isRepeatable(variant: Variant): boolean {
  return variant !== 'rl-ahead';
}

/** Tokens of the rollouts that may be in flight when something strikes: a step's, and those of an evaluation. */
export const TOKENS_IN_FLIGHT = 4 * 4 * 6 + 16 * 6;

/** Steps queued at the engine behind the running one. */
const SUBMIT_AHEAD: Readonly<Record<SupervisedVariant, number>> = { background: 1, blocking: 3, rolling: 2 };

/** After so many events the run goes on in a new execution; null for the product's own limit, which none reaches here. */
export const HISTORY_EVENTS: Readonly<Record<Variant, number | null>> = {
  background: null,
  blocking: null,
  rolling: 40,
  'rl-turns': null,
  'rl-parts': 60,
  'rl-ahead': null,
};

const ARITHMETIC = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 8 };

function schedulesOf(variant: SupervisedVariant, heldOut: string): object {
  const seldom = [
    { type: 'nll', name: 'seldom', dataset: { path: heldOut } },
    { ...ARITHMETIC, name: 'again' },
  ];
  switch (variant) {
    case 'background':
      return {
        saveEvery: 10,
        evalEvery: 10,
        evaluators: [ARITHMETIC],
        infrequentEvalEvery: 30,
        infrequentEvaluators: seldom,
      };
    case 'blocking':
      return {
        saveEvery: 7,
        schedules: [
          { name: 'often', every: { steps: 12 }, mode: 'blocking', evaluators: [ARITHMETIC] },
          { name: 'by-tokens', every: { tokens: 20_000 }, evaluators: seldom.slice(0, 1) },
        ],
      };
    case 'rolling':
      return {
        saveEvery: 25,
        rollingSaveEvery: 4,
        evalEvery: 8,
        evaluators: [ARITHMETIC],
        infrequentEvalEvery: 20,
        infrequentEvaluators: seldom,
      };
  }
}

/** Writes the config of a run on the shipped arithmetic data into `folder` and returns its file. */
export function writeConfig(folder: string, variant: Variant, steps: number): string {
  const file = path.join(folder, 'config.json');
  const config = isReinforcement(variant)
    ? reinforcementConfig(variant, steps)
    : supervisedConfig(folder, variant, steps);
  writeFileSync(file, JSON.stringify(config));
  return file;
}

function isReinforcement(variant: Variant): variant is ReinforcementVariant {
  return RL_VARIANTS.some((one) => one === variant);
}

const MODES: Readonly<Record<ReinforcementVariant, object>> = {
  'rl-turns': { computePostKl: true },
  'rl-parts': { streamedMinibatches: 2 },
  'rl-ahead': { streamedMinibatches: 2, maxStepsOffPolicy: 1 },
};

function reinforcementConfig(variant: ReinforcementVariant, steps: number): object {
  return {
    kind: 'rl',
    model: 'everstep/tiny',
    environment: { type: 'arithmetic' },
    steps,
    groupsPerBatch: 4,
    groupSize: 4,
    maxTokens: 6,
    learningRate: 0.001,
    loraRank: 4,
    seed: 7,
    saveEvery: 5,
    evalEvery: 10,
    evaluators: [{ type: 'rlTestSet', limit: 16 }],
    ...MODES[variant],
  };
}

function supervisedConfig(folder: string, variant: SupervisedVariant, steps: number): object {
  const heldOut = path.join(folder, 'held-out.jsonl');
  const rows = readFileSync(path.join(DATA, 'test.jsonl'), 'utf8').split('\n').slice(0, 16);
  writeFileSync(heldOut, `${rows.join('\n')}\n`);
  return {
    kind: 'sft',
    model: 'everstep/tiny',
    dataset: { path: path.join(DATA, 'train.jsonl'), limit: 512, testPath: heldOut },
    steps,
    batchSize: 64,
    learningRate: 0.001,
    loraRank: 4,
    seed: 7,
    submitAhead: SUBMIT_AHEAD[variant],
    ...schedulesOf(variant, heldOut),
  };
}
