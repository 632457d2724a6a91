import { decode, prefill } from './decode';
import { allLinears } from './layout';
import { packMerged } from './linear-map';
import { Network, weightsLayout } from './network';
import { trainSlices } from './train-slice';
import type { DecodeInput, DecodeOutput, PrefillInput, PrefillOutput } from './decode';
import type { Pointer } from './kernels';
import type { NetworkDescription } from './network';
import type { TrainSlicesInput, TrainSlicesOutput } from './train-slice';
import type { Workspace } from './workspace';

interface AddRangeInput {
  readonly target: Pointer;
  /** Added in this order, whichever threads computed them. */
  readonly sources: readonly Pointer[];
  readonly count: number;
}

interface OptimizeInput {
  readonly weights: Pointer;
  readonly gradients: Pointer;
  readonly firstMoment: Pointer;
  readonly secondMoment: Pointer;
  readonly count: number;
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weightDecay: number;
  readonly gradClipNorm: number;
  /** This update's number, from 1. */
  readonly step: number;
}

interface OptimizeOutput {
  readonly gradNorm: number;
  /** False where a weight or moment would not have been finite any more: they are as before then. */
  readonly isApplied: boolean;
}

interface PackInput {
  readonly network: NetworkDescription;
  /** A block laid out for sampling. */
  readonly target: Pointer;
}

/** What the compute threads do. All of it is plain data in and out; the tensors lie in shared memory. */
export interface Jobs {
  readonly trainSlices: { readonly input: TrainSlicesInput; readonly output: TrainSlicesOutput };
  readonly addRange: { readonly input: AddRangeInput; readonly output: null };
  readonly optimize: { readonly input: OptimizeInput; readonly output: OptimizeOutput };
  readonly pack: { readonly input: PackInput; readonly output: null };
  readonly prefill: { readonly input: PrefillInput; readonly output: PrefillOutput };
  readonly decode: { readonly input: DecodeInput; readonly output: DecodeOutput };
}

export type JobKind = keyof Jobs;

type Handlers = {
  readonly [Kind in JobKind]: (space: Workspace, input: Jobs[Kind]['input']) => Jobs[Kind]['output'];
};

export const JOB_HANDLERS: Handlers = { trainSlices, addRange, optimize, pack, prefill, decode };

function addRange({ kernels }: Workspace, { target, sources, count }: AddRangeInput): null {
  for (const source of sources) kernels.add(count, target, source);
  return null;
}

/** Clears the gradients, whether the step could be applied or not. */
function optimize({ kernels }: Workspace, input: OptimizeInput): OptimizeOutput {
  const { count, gradients, beta1, beta2, step, gradClipNorm } = input;
  const gradNorm = Math.sqrt(kernels.sumOfSquares(count, gradients));
  const clip = gradClipNorm > 0 && gradNorm > gradClipNorm ? gradClipNorm / gradNorm : 1;
  const run = (mode: { readonly isTrial: boolean }): boolean =>
    kernels.adamStep(
      count,
      input.weights,
      gradients,
      input.firstMoment,
      input.secondMoment,
      input.learningRate,
      beta1,
      beta2,
      input.eps,
      input.weightDecay,
      1 - beta1 ** step,
      1 - beta2 ** step,
      clip,
      mode.isTrial ? 1 : 0,
    ) === 1;
  const isApplied = Number.isFinite(gradNorm) && run({ isTrial: true });
  if (isApplied) run({ isTrial: false });
  kernels.zero(count, gradients);
  return { gradNorm, isApplied };
}

/** Copies what is not a matrix, merges the adapter into the matrices and packs them. */
function pack(space: Workspace, { network: description, target }: PackInput): null {
  const network = new Network(description, 0);
  const layout = weightsLayout(description.shape, true);
  const matrices = new Set(allLinears(description.shape).map(({ path }) => `${path}.weight`));
  for (const { name, rows, columns, offset } of layout.slots.values()) {
    if (matrices.has(name))
      packMerged(space, network.linear(name.slice(0, -'.weight'.length)), target + offset * 4);
    else space.kernels.copy(rows * columns, target + offset * 4, network.parameter(name).pointer);
  }
  return null;
}
