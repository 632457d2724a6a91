import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Everstep } from '../../../src/client/everstep';

/** As a program in JavaScript calls it, whose options nobody has looked at. */
const untyped = (options: object): never => options as never;

const connect = () =>
  Everstep.connect({ temporal: null, dataFolder: mkdtempSync(join(tmpdir(), 'everstep-options-')) });

test.each([
  ['train', { runn: 'x' }, 'train: unknown option "runn". Did you mean "run"?'],
  ['list', { status: 'runing' }, 'status: "runing" is not known. Did you mean "running"?'],
  ['list', { kind: 'dpo' }, 'kind: "dpo" is not known. Use one of sft, rl.'],
  ['list', { sort: 'newest' }, 'sort: "newest" is not known. Use one of started, score, step.'],
  ['list', { limitt: 1 }, 'runs.list: unknown option "limitt". Did you mean "limit"?'],
  ['connect', { adress: 'x' }, 'connect: unknown option "adress". Did you mean "address"?'],
] as const)('%s refuses %j', async (call, options, message) => {
  const everstep = await connect();
  const calls = {
    train: () =>
      everstep.train({ kind: 'sft', model: 'everstep/tiny', dataset: { path: 'a' } }, untyped(options)),
    list: () => everstep.runs.list(untyped(options)),
    connect: () => Everstep.connect(untyped(options)),
  };

  await expect(calls[call]()).rejects.toMatchObject({ code: 'bad-config', message });
});
