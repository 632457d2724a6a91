import type { ReinforcementConfig } from '../../config/reinforcement-config';
import { DomainError } from '../../core/errors';
import type {
  PolicyLoss,
  PolicyLossInputs,
  PolicyLossSettings,
} from '../../core/reinforcement/policy-losses';
import type { PolicyDatum } from '../../core/reinforcement/rollout-datums';
import { callPlugin } from '../plugin-call';
import type { DerivedLoss } from '../step-batch';

/** The loss of one sequence and its slopes by the log-probabilities. Tokens without mask are the prompt's. */
export type SequenceLoss = (
  inputs: Required<PolicyLossInputs>,
  settings: PolicyLossSettings,
) => Pick<PolicyLoss, 'loss'> & { readonly slopes: ArrayLike<number> };

/** A loss of sequences as a loss of an update: a sum, as the service's own are. */
export function derivedLossOf(
  lossOf: SequenceLoss,
  datums: readonly PolicyDatum[],
  settings: PolicyLossSettings,
): DerivedLoss {
  return (logprobs) => {
    const found = datums.map(({ logprobs: sampledLogprobs, advantages, mask }, index) =>
      requireFinite(
        lossOf({ logprobs: logprobs[index] ?? [], sampledLogprobs, advantages, mask }, settings),
        mask,
      ),
    );
    return {
      loss: found.reduce((sum, { loss }) => sum + loss, 0),
      weights: found.map(({ slopes }, index) =>
        // A prompt's tokens are never trained, whatever a loss says of them.
        Float32Array.from(slopes, (slope, place) => (datums[index]?.mask[place] === 0 ? 0 : 0 - slope)),
      ),
    };
  };
}

function requireFinite(
  found: ReturnType<SequenceLoss>,
  { length }: ArrayLike<number>,
): ReturnType<SequenceLoss> {
  const problem = problemOf(found, length);
  if (problem === null) return found;
  throw new DomainError('bad-plugin', `The loss is no loss: ${problem}.`);
}

function problemOf({ loss, slopes }: ReturnType<SequenceLoss>, length: number): string | null {
  const isWhole = slopes.length === length && Array.from(slopes).every(Number.isFinite);
  if (isWhole && Number.isFinite(loss)) return null;
  return `it gave ${slopes.length} slopes for ${length} tokens and the loss ${loss}, and has to give a finite loss and a finite slope for each token`;
}

interface PluginLosses {
  readonly file: string | null;
  readonly losses?: ReadonlyMap<string, unknown>;
}

/** The loss of the plug-in file that a config names; undefined where it names one of the protocol. */
export function pluginLossOf(
  { lossFunction }: Pick<ReinforcementConfig, 'lossFunction'>,
  { file, losses }: PluginLosses,
): SequenceLoss | undefined {
  if (typeof lossFunction === 'string') return undefined;
  const found = losses?.get(lossFunction.plugin);
  if (isLoss(found)) {
    const part = { subject: `loss "${lossFunction.plugin}"`, file };
    return (inputs, settings) => callPlugin(part, () => answerOf(found, inputs, settings));
  }
  const known = [...(losses?.keys() ?? [])].join(', ') || 'none';
  throw new DomainError(
    'bad-plugin',
    `lossFunction: ${file ?? 'no plug-in file'} has no loss "${lossFunction.plugin}". It has: ${known}. Export { losses: { name: function } }.`,
  );
}

function answerOf(
  loss: SequenceLoss,
  inputs: Required<PolicyLossInputs>,
  settings: PolicyLossSettings,
): ReturnType<SequenceLoss> {
  const answer = loss(inputs, settings);
  const given: unknown = answer;
  const slopes: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, 'slopes') : null;
  const isList = Array.isArray(slopes) || ArrayBuffer.isView(slopes);
  const problem = isList ? problemOf(answer, inputs.mask.length) : null;
  if (isList && problem === null) return answer;
  throw new Error(problem ?? 'it has to return { loss, slopes } at once, with a list of slopes');
}

function isLoss(value: unknown): value is SequenceLoss {
  return typeof value === 'function';
}
