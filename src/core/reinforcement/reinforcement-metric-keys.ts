/** Keys of reinforcement learning, by the field's names. */
export const REINFORCEMENT_METRIC_KEYS = {
  /** Mean of log p(sampled) − log p(training), both of the weights that drew the tokens: the engines' disagreement. */
  klSampleTrain: 'optim/kl_sample_train_v1',
  /** Half the mean square of the same difference; never negative, less noisy (Schulman 2020, k2). */
  klSampleTrainSquared: 'optim/kl_sample_train_v2',
  /** Mean of −log p(sampled): an estimate of the policy's entropy, in nats a token. */
  entropy: 'optim/entropy',
  /** Mean of log p(sampled) − log p(weights after the update). */
  klPrePost: 'kl_pre_post_v1',
  klPrePostSquared: 'kl_pre_post_v2',
  /** Mean of log p(sampled) − log p(reference). */
  klPolicyBase: 'kl_policy_base',
  samplingStepMax: 'sampling_client/step_max',
  samplingStepMin: 'sampling_client/step_min',
  samplingStepMean: 'sampling_client/step_mean',
  samplingSecondsMax: 'time/sampling_time_max',
  samplingSecondsMin: 'time/sampling_time_min',
  samplingSecondsMean: 'time/sampling_time_mean',
  rolloutErrors: 'rollout_errors/total',
  skippedGroups: 'rollout_errors/groups_skipped',
} as const;
