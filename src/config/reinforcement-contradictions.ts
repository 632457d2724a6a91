import { DomainError } from '../core/errors';
import { policyLossSettings } from '../core/reinforcement/policy-losses';
import { planMinibatches } from '../core/reinforcement/substeps';
import type { ReinforcementConfig } from './reinforcement-config';
import type { TrainingConfig } from './training-config';

/** What no single key of a reinforcement config shows. */
export function reinforcementContradictions(config: TrainingConfig): string[] {
  if (config.kind !== 'rl') return [];
  return [
    ...unusableLoss(config),
    ...unevenMinibatches(config),
    ...streamedOwnLoss(config),
    ...unusedReference(config),
    ...tooManySubsteps(config),
    ...loneRollouts(config),
    ...equalRollouts(config),
  ];
}

function unusableLoss({ lossFunction, lossConfig }: ReinforcementConfig): string[] {
  // What a plug-in's loss takes is its own to say.
  if (typeof lossFunction === 'object') return [];
  return complaintsOf(() => policyLossSettings(lossFunction, lossConfig));
}

function streamedOwnLoss({ lossFunction, streamedMinibatches }: ReinforcementConfig): string[] {
  if (streamedMinibatches === 0 || (lossFunction !== 'dro' && typeof lossFunction === 'string')) return [];
  const name = typeof lossFunction === 'string' ? lossFunction : `"${lossFunction.plugin}" of the plug-in`;
  return [
    `streamedMinibatches is ${streamedMinibatches}, and the loss ${name} is computed from the log-probabilities of a whole update. Set it to 0, or take another loss.`,
  ];
}

function unevenMinibatches(config: ReinforcementConfig): string[] {
  const { groupsPerBatch, numSubsteps: substepCount, streamedMinibatches } = config;
  if (streamedMinibatches === 0) return [];
  return complaintsOf(() =>
    planMinibatches({ groupsPerBatch, substepCount, minibatchCount: streamedMinibatches }),
  );
}

function unusedReference({ klPenaltyCoef, klReference }: ReinforcementConfig): string[] {
  if (klPenaltyCoef > 0 || Object.keys(klReference).length === 0) return [];
  return [
    'klReference is given and klPenaltyCoef is 0, so it would not be used. Set klPenaltyCoef, or leave it out.',
  ];
}

function tooManySubsteps({
  groupsPerBatch,
  numSubsteps,
  streamedMinibatches,
}: ReinforcementConfig): string[] {
  // In parts, what does not divide is refused already.
  if (streamedMinibatches > 0 || numSubsteps <= groupsPerBatch) return [];
  return [
    `numSubsteps is ${numSubsteps} and groupsPerBatch is ${groupsPerBatch}: each update needs a group. Set numSubsteps to at most ${groupsPerBatch}.`,
  ];
}

function loneRollouts(config: ReinforcementConfig): string[] {
  if (config.groupSize > 1) return [];
  const remedy = 'Set groupSize to 2 or more, such as 8';
  if (config.removeConstantRewardGroups) {
    return [
      `groupSize is 1 and removeConstantRewardGroups is true, which leaves out every group of one rollout. ${remedy}.`,
    ];
  }
  // A penalty, returns by token and a loss of one's own give a rollout something to learn without others beside it.
  const learns = config.klPenaltyCoef > 0 || config.advantages.discount !== undefined;
  if (learns || typeof config.lossFunction === 'object') return [];
  return [
    `groupSize is 1: an advantage is a reward less the mean of its group, so it would always be 0. ${remedy}, or klPenaltyCoef above 0 to learn from a reference alone.`,
  ];
}

function equalRollouts({ groupSize, temperature }: ReinforcementConfig): string[] {
  if (temperature > 0 || groupSize === 1) return [];
  return [
    `temperature is 0, so the ${groupSize} rollouts of a group would be the same and their advantages 0. Set temperature to 1. Evaluators have a temperature of their own.`,
  ];
}

function complaintsOf(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof DomainError) return [error.message];
    throw error;
  }
}
