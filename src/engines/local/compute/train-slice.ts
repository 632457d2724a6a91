import { Decoder } from './decoder';
import { LOSSES } from './losses';
import { Network } from './network';
import { PackedAttention } from './packed-attention';
import type { EngineLoss } from '../model-runtime';
import type { Pointer } from './kernels';
import type { NetworkDescription } from './network';
import type { Workspace } from './workspace';

export interface LossSettings {
  readonly name: EngineLoss;
  readonly settings: Readonly<Record<string, number>>;
}

/** Consecutive datums of one request, end to end: rows are never padded. */
export interface BatchSlice {
  readonly lengths: readonly number[];
  /** Targets a position of each datum. */
  readonly widths: readonly number[];
  readonly tokens: Int32Array;
  /** All targets of a position, then those of the next. */
  readonly targets: Int32Array;
  /** One array an input of the loss, a value a target. */
  readonly lossInputs: readonly Float32Array[];
}

export interface TrainSlicesInput {
  readonly network: NetworkDescription;
  readonly slices: readonly BatchSlice[];
  readonly loss: LossSettings;
  /** A block for each slice's own gradient, overwritten; null for a forward pass only. */
  readonly gradients: readonly Pointer[] | null;
  /** A shared int32, 0 at the start: threads that were given the same slices take the next one from it. */
  readonly counter: Pointer;
}

export interface TrainSliceOutput {
  /** One a target. */
  readonly logprobs: Float32Array;
  readonly loss: number;
}

/** What this thread computed, by the index of the slice. */
export type TrainSlicesOutput = readonly (TrainSliceOutput & { readonly index: number })[];

export function trainSlices(space: Workspace, input: TrainSlicesInput): TrainSlicesOutput {
  const { network, loss, slices, gradients, counter } = input;
  const outputs: (TrainSliceOutput & { readonly index: number })[] = [];
  for (;;) {
    const index = Atomics.add(space.integers, counter / 4, 1);
    const slice = slices[index];
    if (slice === undefined) return outputs;
    space.scratch(() => {
      const output = trainSlice(space, { network, loss, slice, gradients: gradients?.[index] ?? 0 });
      outputs.push({ index, ...output });
    });
  }
}

interface TrainSliceInput {
  readonly network: NetworkDescription;
  readonly slice: BatchSlice;
  readonly loss: LossSettings;
  readonly gradients: Pointer;
}

function trainSlice(space: Workspace, input: TrainSliceInput): TrainSliceOutput {
  const { slice, gradients } = input;
  const { kernels } = space;
  const isTraining = gradients !== 0;
  const rows = slice.tokens.length;
  const tokens = space.storeIntegers(slice.tokens);
  const positions = space.storeIntegers(
    slice.lengths.flatMap((length) => Array.from({ length }, (_, index) => index)),
  );
  const network = new Network(input.network, gradients);
  network.clearSums(kernels);
  const decoder = new Decoder(space, network, { tokens, positions, rows, isTraining });
  const logits = decoder.logits(
    decoder.run(new PackedAttention(space, network, { lengths: slice.lengths, rows, isTraining })),
  );

  const { vocabSize } = network.shape;
  const probabilities = isTraining ? logits.gradient : space.allocate(rows * vocabSize);
  const statistics = space.allocate(rows * 2);
  const ones = space.storeFloats(new Float32Array(rows).fill(1));
  kernels.softmaxRows(rows, vocabSize, logits.value, ones, probabilities, statistics);
  const targetRows = rowsOfTargets(slice);
  const logprobs = new Float32Array(slice.targets.length);
  for (const [index, row] of targetRows.entries()) {
    logprobs[index] = logprobOf(space, {
      logits: logits.value + row * vocabSize * 4,
      statistics: statistics + row * 8,
      token: slice.targets[index] ?? 0,
    });
  }
  const { loss, slopes } = evaluateLoss(logprobs, slice, input.loss);
  if (isTraining) {
    const { targets } = slice;
    softmaxBackward(space, { rows, vocabSize, probabilities, targets, targetRows, slopes });
    decoder.backward();
  }
  return { logprobs, loss };
}

/** The position that each target belongs to. */
function rowsOfTargets({ lengths, widths, targets }: BatchSlice): Int32Array {
  const rows = new Int32Array(targets.length);
  let row = 0;
  let index = 0;
  for (const [datum, length] of lengths.entries()) {
    const width = widths[datum] ?? 1;
    for (const end = row + length; row < end; row++) {
      rows.fill(row, index, index + width);
      index += width;
    }
  }
  return rows;
}

interface SoftmaxBackward {
  readonly rows: number;
  readonly vocabSize: number;
  /** Become the gradient of the logits. */
  readonly probabilities: Pointer;
  readonly targets: Int32Array;
  readonly targetRows: Int32Array;
  /** dLoss / dp of each target. */
  readonly slopes: Float32Array;
}

/** dLoss / dlogit: the sum over a row's targets of slope × (1 at the target - probability). */
function softmaxBackward(space: Workspace, backward: SoftmaxBackward): void {
  const { rows, vocabSize, probabilities, targets, targetRows, slopes } = backward;
  const firsts = new Int32Array(rows);
  const sums = new Float32Array(rows);
  const others: number[] = [];
  for (const [index, row] of targetRows.entries()) {
    if (targetRows[index - 1] === row) others.push(index);
    else firsts[row] = targets[index] ?? 0;
    sums[row] = (sums[row] ?? 0) + (slopes[index] ?? 0);
  }
  const [first, sum] = [space.storeIntegers(firsts), space.storeFloats(sums)];
  space.kernels.softmaxBackward(rows, vocabSize, probabilities, first, sum);
  for (const index of others) moveSlope(space, backward, { index, firsts });
}

/** The kernel put a row's whole slope on its first target: the others take theirs back. */
function moveSlope(
  { floats }: Workspace,
  { vocabSize, probabilities, targets, targetRows, slopes }: SoftmaxBackward,
  { index, firsts }: { readonly index: number; readonly firsts: Int32Array },
): void {
  const row = targetRows[index] ?? 0;
  const slope = slopes[index] ?? 0;
  const line = probabilities / 4 + row * vocabSize;
  const from = line + (firsts[row] ?? 0);
  const to = line + (targets[index] ?? 0);
  floats[from] = (floats[from] ?? 0) - slope;
  floats[to] = (floats[to] ?? 0) + slope;
}

/** log p(token) of one row, from what `softmaxRows` left; the trainer and the sampler share it, so that they agree. */
export function logprobOf(
  { floats }: Workspace,
  row: {
    readonly logits: Pointer;
    readonly statistics: Pointer;
    readonly token: number;
    readonly inverseTemperature?: number;
  },
): number {
  const highest = floats[row.statistics / 4] ?? 0;
  const total = floats[row.statistics / 4 + 1] ?? 1;
  const logit = Math.fround((floats[row.logits / 4 + row.token] ?? 0) * (row.inverseTemperature ?? 1));
  return Math.fround(logit - highest - Math.log(total));
}

function evaluateLoss(
  logprobs: Float32Array,
  { lengths, widths, lossInputs }: BatchSlice,
  { name, settings }: LossSettings,
): { loss: number; slopes: Float32Array } {
  const definition = LOSSES[name];
  const slopes = new Float32Array(logprobs.length);
  let loss = 0;
  let index = 0;
  for (const [datum, length] of lengths.entries()) {
    const end = index + length * (widths[datum] ?? 1);
    const own = (values: Float32Array): Float32Array => values.subarray(index, end);
    const shared = definition.shared?.(own(logprobs), lossInputs.map(own)) ?? 0;
    for (; index < end; index++) {
      const token = definition.evaluate(logprobs[index] ?? 0, inputsAt(lossInputs, index), {
        settings,
        shared,
      });
      loss += token.loss;
      slopes[index] = token.slope;
    }
  }
  return { loss, slopes };
}

function inputsAt(
  [first, second, third]: readonly Float32Array[],
  index: number,
): readonly [number, number, number] {
  return [first?.[index] ?? 0, second?.[index] ?? 0, third?.[index] ?? 0];
}
