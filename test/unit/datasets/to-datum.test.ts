import { describeTruncation, toDatum } from '../../../src/datasets/to-datum';
import { readVectors } from '../renderers/vector-files';

const example = { tokens: [1, 2, 3, 4, 5], weights: [0, 0, 1, 0, 1] };

test('shifts targets and weights by one and divides by the sum of the weights that are left', () => {
  const datum = toDatum(example, { maxLength: 4, reduction: 'mean' });

  expect([...datum.tokens]).toEqual([1, 2, 3]);
  expect([...datum.targetTokens]).toEqual([2, 3, 4]);
  expect([...(datum.lossInputs['weights'] ?? [])]).toEqual([0, 1, 0]);
});

test('tells what cutting removes', () => {
  expect(describeTruncation(example, 10)).toEqual({
    droppedTokenCount: 0,
    droppedLossTokenCount: 0,
    isLossGone: false,
  });
  expect(describeTruncation(example, 4)).toEqual({
    droppedTokenCount: 1,
    droppedLossTokenCount: 1,
    isLossGone: false,
  });
  expect(describeTruncation(example, 2)).toEqual({
    droppedTokenCount: 3,
    droppedLossTokenCount: 2,
    isLossGone: true,
  });
  expect(describeTruncation({ tokens: [1, 2, 3], weights: [1, 0, 0] }, 2).isLossGone).toBe(false);
});

test('refuses an example of which fewer than two tokens are left', () => {
  expect(() => toDatum(example, { maxLength: 1, reduction: 'none' })).toThrow('needs at least 2 tokens');
});

interface DatumInput {
  tokens: number[];
  weights: number[];
  max_length: number | null;
  reduction: string;
}
interface DatumExpected {
  $error?: string;
  input_tokens: number[];
  target_tokens: number[];
  weights: number[];
}

const cases = readVectors<DatumInput, DatumExpected>(
  'sl_metrics.json',
  'supervised.common.datum_from_model_input_weights',
);
// A reduction by another name is refused by the types.
const typed = cases?.filter(({ input }) => input.reduction === 'none' || input.reduction === 'mean');
if (typed) {
  test.each(typed)('makes of $input what the reference does', ({ input, expected }) => {
    const reduction = input.reduction === 'mean' ? 'mean' : 'none';
    const build = () =>
      toDatum(input, { maxLength: input.max_length ?? Number.POSITIVE_INFINITY, reduction });

    if (expected.$error) {
      expect(build).toThrow('needs at least 2 tokens');
      return;
    }
    expect([...build().tokens]).toEqual(expected.input_tokens);
    expect([...build().targetTokens]).toEqual(expected.target_tokens);
    expect([...(build().lossInputs['weights'] ?? [])]).toEqual(expected.weights);
  });
} else {
  test.skip('datum vectors: the behaviour vectors are not on this machine (EVERSTEP_VECTORS_DIR)', () =>
    undefined);
}
