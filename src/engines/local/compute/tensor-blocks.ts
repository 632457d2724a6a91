import { DomainError } from '../../../core/errors';
import { createRandom } from '../../../core/random';
import type { NamedTensor } from '../model-runtime';
import type { Layout, TensorSlot } from './layout';

/** Copies a block of parameters out, each tensor in the shape it has in files. */
export function exportTensors(block: Float32Array, layout: Layout): NamedTensor[] {
  return [...layout.slots.values()].map((slot) => ({
    name: slot.name,
    shape: slot.shape,
    data: copyRows(slot, new Float32Array(countOf(slot)), (data, at, start) => {
      data.set(block.subarray(start, start + at.count), at.first);
    }),
  }));
}

/** Throws before anything is written when a tensor is missing, unknown or of another shape. */
export function importTensors(block: Float32Array, layout: Layout, tensors: readonly NamedTensor[]): void {
  checkTensors(layout, tensors);
  block.fill(0);
  for (const { name, data } of tensors) {
    const slot = layout.slots.get(name);
    if (slot === undefined) continue;
    copyRows(slot, data, (source, at, start) => {
      block.set(source.subarray(at.first, at.first + at.count), start);
    });
  }
}

export function checkTensors(layout: Layout, tensors: readonly NamedTensor[]): void {
  const given = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const missing = [...layout.slots.keys()].find((name) => !given.has(name));
  const unknown = tensors.find(({ name }) => !layout.slots.has(name));
  if (missing !== undefined) throw wrongTensors(`"${missing}" is missing`);
  if (unknown !== undefined) throw wrongTensors(`"${unknown.name}" is not part of the model`);
  for (const slot of layout.slots.values()) {
    const tensor = given.get(slot.name);
    const isSame = tensor?.shape.join() === slot.shape.join() && tensor.data.length === countOf(slot);
    if (!isSame)
      throw wrongTensors(`"${slot.name}" is ${tensor?.shape.join('x') ?? ''}, not ${slot.shape.join('x')}`);
  }
}

function wrongTensors(reason: string): DomainError {
  return new DomainError(
    'request-failed',
    `The weights do not fit this model: ${reason}. Use a checkpoint of the same base model and LoRA settings.`,
    {
      category: 'user',
    },
  );
}

function countOf({ shape }: TensorSlot): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Goes row by row, because stored rows may be padded. `start` is the row's place in the block. */
function copyRows(
  slot: TensorSlot,
  data: Float32Array,
  copy: (data: Float32Array, at: { readonly first: number; readonly count: number }, start: number) => void,
): Float32Array {
  const count = slot.shape.at(-1) ?? 0;
  const rows = count === 0 ? 0 : data.length / count;
  for (let row = 0; row < rows; row++)
    copy(data, { first: row * count, count }, slot.offset + row * slot.columns);
  return data;
}

/** A uniform in ±1/√inputs, B zero: a new adapter changes nothing. The seed alone decides. */
export function initializeAdapter(block: Float32Array, layout: Layout, seed: number): void {
  block.fill(0);
  const random = createRandom(Math.floor(seed / 4294967296) ^ seed);
  for (const slot of layout.slots.values()) {
    if (!slot.name.includes('lora_A')) continue;
    const bound = 1 / Math.sqrt(slot.columns);
    const [rank = 0] = slot.shape;
    for (let index = 0; index < rank * slot.columns; index++) {
      block[slot.offset + index] = (2 * random() - 1) * bound;
    }
  }
}
