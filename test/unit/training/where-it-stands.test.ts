import { parseTrainingConfig } from '../../../src/config/parse-training-config';
import type { ControlRow } from '../../../src/core/controls';
import type { CheckpointRow, RunState, ScoreRow } from '../../../src/core/run';
import type { RunRecord } from '../../../src/training/run-folder';
import type { Journals } from '../../../src/training/where-it-stands';
import type { SentRow } from '../../../src/core/training-plan';
import { whereItStands } from '../../../src/training/where-it-stands';

const evaluators = [{ type: 'nll', name: 'test', dataset: { path: '/data/test.jsonl' } }];

function configOf(schedules: readonly object[] | undefined) {
  return parseTrainingConfig({
    kind: 'sft',
    model: 'everstep/tiny',
    dataset: { path: '/data/train.jsonl' },
    steps: 24,
    ...(schedules ? { schedules } : { evalEvery: 4, evaluators }),
  });
}

interface Story {
  readonly checkpoints: readonly Partial<CheckpointRow>[];
  /** Steps with a result. */
  readonly scored?: readonly number[];
  readonly controls?: readonly Partial<ControlRow>[];
  readonly sent?: readonly SentRow[];
  readonly schedules?: readonly object[];
}

/** A run of whose 24 steps 8 are done. */
function journals({ checkpoints, scored = [], controls = [], sent = [], schedules }: Story): Journals {
  const scores = scored.map((step) => ({
    step,
    schedule: 'evaluators',
    evaluator: 'test',
    key: 'test/nll',
  })) as Partial<ScoreRow>[];
  return {
    record: { config: configOf(schedules), evaluators: {}, data: {} } as RunRecord,
    state: { run: 'mine', totalSteps: 24 } as RunState,
    checkpoints: checkpoints as readonly CheckpointRow[],
    scores: scores as readonly ScoreRow[],
    controls: controls as readonly ControlRow[],
    lastStep: 8,
    begun: new Set(),
    sent,
  };
}

const both = (step: number) => ({ ...state(step), sampler_path: `tinker://m/sampler_weights/${step}` });
const state = (step: number) => ({
  ...{ step, name: String(step), lineage: 0 },
  ...{ state_path: `tinker://m/weights/${step}`, sampler_path: null },
});
const rolling = (step: number) => ({ ...state(step), rolling: true });

function stand(story: Story, gone: readonly number[] = []) {
  const { step, fromStates, missing } = whereItStands(journals(story), new Set(gone));
  return { step, from: fromStates.map((row) => row.name), missing: missing.map((one) => one.step) };
}

test('a step whose state alone is kept is measured from that, and training goes on from the last checkpoint', () => {
  const checkpoints = [state(0), both(8)];

  expect(stand({ checkpoints })).toEqual({ step: 0, from: ['0'], missing: [0, 4, 8] });
  expect(stand({ checkpoints, scored: [4] })).toEqual({ step: 8, from: ['0'], missing: [0, 8] });
  expect(stand({ checkpoints, scored: [0, 4] })).toEqual({ step: 8, from: [], missing: [8] });
});

test('one without any checkpoint is trained to again', () => {
  expect(stand({ checkpoints: [state(0), both(8)], scored: [0] })).toMatchObject({ step: 0, from: [] });
});

test('the step that training goes on from is measured from its state too', () => {
  expect(stand({ checkpoints: [state(0), state(8)], scored: [0, 4] })).toMatchObject({
    step: 8,
    from: ['8'],
  });
});

test('of rolling checkpoints only the newest is there', () => {
  const scored = [0];

  expect(stand({ checkpoints: [state(0), rolling(4), rolling(8)], scored })).toMatchObject({
    step: 0,
    from: [],
  });
  expect(stand({ checkpoints: [state(0), rolling(4), rolling(8)], scored: [0, 4] })).toMatchObject({
    ...{ step: 8, from: ['8'] },
  });
  expect(stand({ checkpoints: [state(0), rolling(2), both(8)], scored })).toMatchObject({ step: 0 });
});

test('where a state turned out to be gone, training goes back to before its step', () => {
  const checkpoints = [state(0), state(4), both(8)];

  expect(stand({ checkpoints })).toMatchObject({ step: 8, from: ['0', '4'] });
  expect(stand({ checkpoints }, [4])).toMatchObject({ step: 0, from: ['0'] });
  expect(stand({ checkpoints }, [0])).toMatchObject({ step: -1, from: [] });
});

test('what a person asked for is measured from a state as well', () => {
  const controls = [{ control: 'runEvaluation', by: 'ann', step: 0, to: ['test'] }] as const;

  expect(stand({ checkpoints: [state(0), both(8)], scored: [0, 4, 8], controls })).toEqual({
    ...{ step: 8, from: ['0'], missing: [] },
  });
});

const sentWith = (named: Readonly<Record<number, readonly string[]>>): SentRow[] =>
  [1, 2, 3, 4, 5, 6, 7, 8, 9].map((step) => ({
    ...{ step, incarnation: 0, tokens: 30 * step, schedules: named[step] ?? [] },
  }));

test('evaluations due by tokens are missing although nothing of them was begun, from the step a change takes effect on too', () => {
  const schedules = [{ name: 'tok', every: { tokens: 100 }, evaluators }];
  const sent = sentWith({}).map(({ step, incarnation, tokens }) => ({ step, incarnation, tokens }));
  const checkpoints = [both(0), both(4), both(7), both(8)];
  const to = { schedule: 'tok', when: { tokens: 60 }, evaluators: ['test'] };
  const controls = [{ control: 'setEvalSchedule', by: 'ann', step: 5, to }] as const;

  expect(stand({ checkpoints, schedules, sent })).toEqual({ step: 8, from: [], missing: [0, 4, 7] });
  expect(stand({ checkpoints: [...checkpoints, both(6)], schedules, sent, controls })).toMatchObject({
    missing: [0, 4, 6, 8],
  });
});

test('evaluations due by the clock are those that sent steps name; of steps that are trained again they are bound anew', () => {
  const schedules = [
    { name: 'clock', every: { seconds: 60 }, evaluators },
    { name: 'often', every: { steps: 3 }, evaluators },
  ];
  const sent = sentWith({ 2: ['clock'], 3: ['often'], 6: ['clock', 'often'], 9: ['clock', 'often'] });
  const story = { schedules, sent };

  expect(stand({ ...story, checkpoints: [both(0), both(2), both(3), both(6)] })).toEqual({
    ...{ step: 6, from: [], missing: [0, 2, 3, 6] },
  });
  const { step, timed } = whereItStands(journals({ ...story, checkpoints: [both(0), both(2), both(3)] }));
  expect({ step, timed }).toEqual({
    step: 3,
    timed: [
      { step: 6, schedules: ['clock'] },
      { step: 9, schedules: ['clock'] },
    ],
  });
});

test('a step that no run can have been trained to is not gone through one by one', () => {
  const told = journals({ checkpoints: [state(0), both(8)], scored: [0, 4, 8] });
  const beyond = { ...told, lastStep: 9e15 };
  const isDue = (step: number) => whereItStands(beyond).missing.some((one) => one.step === step);

  expect([12, 24].map(isDue)).toEqual([true, true]);
  expect(() => whereItStands({ ...beyond, state: { ...told.state, totalSteps: 9e15 } })).toThrow(
    'Run "mine" says that it has been trained to step 9000000000000000; no run has more than 10000000.',
  );
});
