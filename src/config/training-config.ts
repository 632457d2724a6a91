import type { z } from 'zod';
import { ReinforcementConfig } from './reinforcement-config';
import { SupervisedConfig } from './supervised-config';

/** Kinds of training a config can ask for, and the schema of each. */
export const TRAINING_CONFIGS = { sft: SupervisedConfig, rl: ReinforcementConfig };

export type TrainingConfig = SupervisedConfig | ReinforcementConfig;
/** A config as a person writes it: what has a default may be left out. */
export type TrainingConfigInput = z.input<typeof SupervisedConfig> | z.input<typeof ReinforcementConfig>;
export type TrainingKind = TrainingConfig['kind'];
