import { ReinforcementConfig } from './reinforcement-config';
import { SupervisedConfig } from './supervised-config';

/** Kinds of training a config can ask for, and the schema of each. */
export const TRAINING_CONFIGS = { sft: SupervisedConfig, rl: ReinforcementConfig };

export type TrainingConfig = SupervisedConfig | ReinforcementConfig;
export type TrainingKind = TrainingConfig['kind'];
