import { largestOf } from '../../../core/extremes';
import { paddedRank } from './layout';
import { keyWidth } from './model-shape';
import { rowProductsScratchFloats } from './linear-map';
import type { ModelShape } from './model-shape';
import type { NetworkDescription } from './network';

/** Upper bounds, in floats, of what the jobs allocate in a thread's workspace. */

const PER_ALLOCATION = 16;
/** Room for what describes a network or a layer to the kernel of the forward pass. */
const PLAN_FLOATS = 16;

function adapterRank({ adapter }: NetworkDescription): number {
  return adapter === null ? 0 : paddedRank(adapter.targets.rank);
}

export function floatsForPass(
  network: NetworkDescription,
  { rows, isTraining }: { readonly rows: number; readonly isTraining: boolean },
): number {
  const { width, feedForward, vocabSize, layers } = network.shape;
  const rank = adapterRank(network);
  const activations = 7 * width + 2 * keyWidth(network.shape) + 4 * feedForward;
  const perLayer = activations + 2 * width + 7 * rank + 2;
  const gradients = isTraining ? activations : 0;
  const ends = gradients + 4 * width + 3 * vocabSize + rank + 16;
  const widest = Math.max(feedForward, width, vocabSize);
  const panels = width * widest + rowProductsScratchFloats(widest) + (rows + widest) * rank;
  return rows * (layers * perLayer + ends) + panels + PER_ALLOCATION * 40 * (layers + 1);
}

export function floatsForAttention(network: NetworkDescription, lengths: readonly number[]): number {
  const { heads, layers } = network.shape;
  const perLayer = lengths.reduce(
    (total, length) => total + heads * length * lineOf(length) + PER_ALLOCATION,
    0,
  );
  const scratch = attentionScratchFloats(network.shape, Math.max(0, largestOf(lengths)));
  return layers * perLayer + scratch + PER_ALLOCATION;
}

/** Floats between rows of probabilities: the kernels write a multiple of 8. */
export function lineOf(length: number): number {
  return Math.ceil(length / 8) * 8;
}

/** For the longest of the sequences that share it. */
export function attentionScratchFloats({ headWidth }: Pick<ModelShape, 'headWidth'>, length: number): number {
  return length * lineOf(length) + headWidth * (4 * lineOf(length) + 8);
}

/** For rows that attend to caches of at most `length` positions. */
export function cacheScratchFloats({ heads }: Pick<ModelShape, 'heads'>, length: number): number {
  return heads * (length + 8);
}

/** What `forwardRows` writes between its input and its output: the two halves of a layer share what they can. */
export function forwardScratchFloats(shape: ModelShape, rows: number): number {
  const scores = cacheScratchFloats(shape, shape.contextLength);
  const attending = rows * 2 * (shape.width + keyWidth(shape)) + scores;
  return rows * (2 * shape.width + 1) + PER_ALLOCATION + Math.max(attending, rows * 2 * shape.feedForward);
}

/** Of drawing from, or scoring, rows of logits after a forward pass. */
export function floatsForSampling({ shape }: NetworkDescription, rows: number): number {
  const { layers, vocabSize } = shape;
  const tables = PLAN_FLOATS + layers * PLAN_FLOATS + 16 * rows;
  const distributions = rows * (3 * vocabSize + 16);
  return forwardScratchFloats(shape, rows) + tables + distributions + PER_ALLOCATION * 32;
}

export function floatsForPacking(network: NetworkDescription): number {
  const { width, feedForward, vocabSize } = network.shape;
  const widest = Math.max(feedForward, width, vocabSize);
  return width * widest + 2 * widest * adapterRank(network) + 4 * PER_ALLOCATION;
}
