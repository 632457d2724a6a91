import type { Datum, ProvenanceRun } from '../../../../../src/core/datum';
import { SequenceRecords } from '../../../../../src/engines/local/server/sequence-records';

const DAY_MS = 86_400_000;
/** A prompt of 3, of which 7, 8 were drawn. */
const ID = 'session:sample:0:request:0:0';

let now: number;
let records: SequenceRecords;

beforeEach(() => {
  now = 1000;
  records = new SequenceRecords(() => now);
  records.add(ID, { sessionId: 'session', promptLength: 3, tokens: Int32Array.of(7, 8) });
});

function run(from: 'prompt' | 'sampled', offset: number, length: number, sequenceId = ID): ProvenanceRun {
  return { from, sequenceId, offset, length };
}

/** As the cookbook makes it: prompt, then what was drawn, shifted by one. */
const DATUM: Datum = {
  tokens: Int32Array.of(1, 2, 3, 7),
  targetTokens: Int32Array.of(0, 0, 7, 8),
  lossInputs: { logprobs: Float32Array.of(0, 0, -1, -2), advantages: Float32Array.of(0, 0, 1, 1) },
  provenance: {
    tokens: [run('prompt', 0, 3), run('sampled', 0, 1)],
    targets: [run('prompt', 1, 2), run('sampled', 0, 2)],
  },
};

function sampledOf(datum: Datum, sessionId = 'session'): Float32Array | undefined {
  return records.withSampledTargets([datum], sessionId)[0]?.lossInputs['sampled'];
}

function withTargets(...targets: ProvenanceRun[]): Datum {
  return { ...DATUM, provenance: { tokens: DATUM.provenance?.tokens ?? [], targets } };
}

test('targets that were sampled are told from those of the prompt', () => {
  expect(sampledOf(DATUM)).toEqual(Float32Array.of(0, 0, 1, 1));
});

test('a token that was not drawn may stand where nothing is trained', () => {
  const masked = { ...DATUM.lossInputs, advantages: Float32Array.of(0, 0, 0, 1) };

  expect(sampledOf({ ...DATUM, targetTokens: Int32Array.of(0, 0, 0, 8), lossInputs: masked })).toHaveLength(
    4,
  );
});

test.each<[string, Datum, RegExp]>([
  [
    'without provenance',
    { tokens: DATUM.tokens, targetTokens: DATUM.targetTokens, lossInputs: DATUM.lossInputs },
    /Datum 0 has no provenance.*with_provenance/,
  ],
  ['that covers too little', withTargets(run('sampled', 0, 2)), /target_tokens has 4 tokens.*covers 2/],
  ['past the sequence', withTargets(run('prompt', 1, 2), run('sampled', 1, 2)), /tokens 1 to 3.*which has 2/],
  ['past the prompt', withTargets(run('prompt', 2, 2), run('sampled', 0, 2)), /the prompt.*which has 3/],
  ['of an unknown sequence', withTargets(run('sampled', 0, 4, 'other')), /"other" is not recorded/],
  [
    'with an advantage in the prompt',
    withTargets(run('prompt', 0, 3), run('sampled', 1, 1)),
    /target 2 has an adv/,
  ],
  [
    'of other tokens than were drawn',
    { ...DATUM, targetTokens: Int32Array.of(0, 0, 7, 9) },
    /target 3 is token 9, but sequence .* drew 8/,
  ],
])('a datum %s is refused', (_, datum, message) => {
  expect(() => sampledOf(datum)).toThrow(message);
});

test('a sequence is known in its session alone, and gone with it', () => {
  expect(() => sampledOf(DATUM, 'another')).toThrow(/not recorded in this session/);

  records.endSession('session');

  expect(() => sampledOf(DATUM)).toThrow(/not recorded/);
});

test('a sequence stays for a day from its last use', () => {
  now += DAY_MS - 1;
  sampledOf(DATUM);
  now += DAY_MS - 1;
  records.dropExpired();
  expect(sampledOf(DATUM)).toHaveLength(4);

  now += DAY_MS + 1;
  records.dropExpired();

  expect(() => sampledOf(DATUM)).toThrow(/not recorded/);
});
