import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DomainError } from '../../../src/core/errors';
import { PolicyPasser } from '../../../src/training/policy-passer';
import type { PolicyNote } from '../../../src/training/policy-note';
import { awaitPolicyNote, removePolicyNote, writePolicyNote } from '../../../src/training/policy-note';
import { StoreNews } from '../../../src/training/store-news';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-policy-'));
});

afterEach(() => {
  jest.useRealTimers();
  rmSync(folder, { recursive: true });
});

const note: PolicyNote = {
  step: 3,
  samplerPath: 'tinker://m/sampler_weights/3',
  isCheckpoint: false,
  generation: 1,
};

function patience(patienceMs: number) {
  return { news: new StoreNews(), signal: new AbortController().signal, patienceMs };
}

test('gives the weights to whoever waits for them, before and after they are there', async () => {
  const waiting = awaitPolicyNote(folder, { step: 3, generation: 1 }, patience(10_000));
  await writePolicyNote(folder, note);

  expect(await waiting).toEqual(note);
  expect(await awaitPolicyNote(folder, { step: 3, generation: 1 }, patience(10_000))).toEqual(note);
});

test('wakes whoever waits in the same process', async () => {
  const waiting = patience(10_000);
  const looked = jest.spyOn(waiting.news, 'wait');
  // Nobody looks again by himself.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate'] });
  const found = awaitPolicyNote(folder, { step: 3, generation: 1 }, waiting);
  while (looked.mock.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await writePolicyNote(folder, note);
  waiting.news.tell();

  expect(await found).toEqual(note);
});

test('keeps them from samplers of another step and from those that were called off', async () => {
  await writePolicyNote(folder, note);

  expect(await awaitPolicyNote(folder, { step: 2, generation: 1 }, patience(20))).toBeNull();
  expect(await awaitPolicyNote(folder, { step: 3, generation: 0 }, patience(20))).toBeNull();
});

test('stops waiting when it is called off', async () => {
  const calledOff = new AbortController();
  const waiting = awaitPolicyNote(
    folder,
    { step: 3, generation: 1 },
    { ...patience(60_000), signal: calledOff.signal },
  );
  calledOff.abort(new Error('off'));

  await expect(waiting).rejects.toThrow();
});

test('is removed with what a killed worker left of it, and nothing else is', async () => {
  await writePolicyNote(folder, note);
  writeFileSync(join(folder, '.policy.json.half.tmp'), '{');
  writeFileSync(join(folder, 'state.json'), '{}');

  await removePolicyNote(folder);
  await removePolicyNote(folder);

  expect(readdirSync(folder)).toEqual(['state.json']);
});

describe('a segment', () => {
  const step = { step: 3, checkpoint: null, isBlocking: false };
  const passing = { generation: 1, throughStep: 5 };
  let passed: PolicyNote[];
  const pass = async (given: PolicyNote) => {
    passed.push(given);
  };

  beforeEach(() => {
    passed = [];
  });

  const offered = async (planned: object, given: typeof passing | undefined = passing) => {
    const passer = new PolicyPasser(given, pass);
    await passer.offer({ ...step, ...planned }, { samplerPath: note.samplerPath });
    return passer.passedOn;
  };

  test('passes on the weights of a step, and says which', async () => {
    expect(await offered({})).toBe(3);
    expect(passed).toEqual([note]);
  });

  test.each([
    ['before a blocking evaluation', { isBlocking: true }],
    ['of the step after which nothing is sampled', { step: 6 }],
  ])('keeps weights %s to itself', async (_name, planned) => {
    expect(await offered(planned)).toBeNull();
    expect(passed).toEqual([]);
  });

  test('passes nothing on where nobody was promised anything', async () => {
    const passer = new PolicyPasser(undefined, pass);
    await passer.offer(step, { samplerPath: note.samplerPath });

    expect(passed).toEqual([]);
  });

  test('goes on where the note cannot be written, and does not say it was', async () => {
    const passer = new PolicyPasser(passing, () => Promise.reject(new DomainError('store-full', 'no room')));
    await passer.offer(step, { samplerPath: note.samplerPath });

    expect(passer.passedOn).toBeNull();
  });
});
