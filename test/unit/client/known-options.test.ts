import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Everstep } from '../../../src/client/everstep';

/** As a program in JavaScript calls it, whose options nobody has looked at. */
const untyped = (options: object): never => options as never;

let dataFolder: string;

beforeAll(() => {
  dataFolder = mkdtempSync(join(tmpdir(), 'everstep-options-'));
});

afterAll(() => {
  rmSync(dataFolder, { recursive: true });
});

const connect = () => Everstep.connect({ temporal: null, dataFolder });

test.each([
  ['train', { runn: 'x' }, 'train: unknown option "runn". Did you mean "run"?'],
  ['list', { status: 'runing' }, 'status: "runing" is not known. Did you mean "running"?'],
  ['list', { kind: 'dpo' }, 'kind: "dpo" is not known. Use one of sft, rl.'],
  ['list', { sort: 'newest' }, 'sort: "newest" is not known. Use one of started, score, step.'],
  ['list', { limitt: 1 }, 'runs.list: unknown option "limitt". Did you mean "limit"?'],
  ['connect', { adress: 'x' }, 'connect: unknown option "adress". Did you mean "address"?'],
  ['metrics', { lst: 3 }, 'metrics: unknown option "lst". Did you mean "last"?'],
  ['timing', { frm: 3 }, 'timing: unknown option "frm". Did you mean "from"?'],
  ['compare', { metric: ['loss'] }, 'runs.compare: unknown option "metric". Did you mean "metrics"?'],
  ['readEvaluation', { stp: 3 }, 'rollouts().readEvaluation: unknown option "stp". Did you mean "step"?'],
  ['rejudge', { benchmark: ['a'] }, 'rejudge: unknown option "benchmark". Did you mean "benchmarks"?'],
  ['regrade', { plugin: 'a' }, 'regrade: unknown option "plugin". Did you mean "plugins"?'],
  [
    'evaluateWith',
    { checkpont: 'a' },
    'evaluateWith: unknown option "checkpont". Did you mean "checkpoint"?',
  ],
  [
    'cancel',
    { benchmark: ['a'] },
    'evaluations.cancel: unknown option "benchmark". Did you mean "benchmarks"?',
  ],
  ['cleanUp', { olderThan: 1 }, 'storage.cleanUp: unknown option "olderThan". Known: olderThanSeconds, now.'],
  ['planCleanUp', { noww: 1 }, 'storage.planCleanUp: unknown option "noww". Did you mean "now"?'],
] as const)('%s refuses %j', async (call, options, message) => {
  const everstep = await connect();
  const calls = {
    train: () =>
      everstep.train({ kind: 'sft', model: 'everstep/tiny', dataset: { path: 'a' } }, untyped(options)),
    list: () => everstep.runs.list(untyped(options)),
    connect: () => Everstep.connect(untyped(options)),
    metrics: () => everstep.run('a').metrics(untyped(options)),
    timing: () => everstep.run('a').timing(untyped(options)),
    compare: () => everstep.runs.compare('a', 'b', untyped(options)),
    readEvaluation: () => everstep.run('a').rollouts().readEvaluation('e', untyped(options)),
    rejudge: () => everstep.rejudge(untyped(options)),
    regrade: () => everstep.regrade(untyped(options)),
    evaluateWith: () => everstep.evaluateWith('e', untyped(options)),
    cancel: () => everstep.evaluations.cancel('a', untyped(options)),
    cleanUp: () => everstep.storage.cleanUp(untyped(options)),
    planCleanUp: () => everstep.storage.planCleanUp(untyped(options)),
  };

  await expect(calls[call]()).rejects.toMatchObject({ code: 'bad-config', message });
});
