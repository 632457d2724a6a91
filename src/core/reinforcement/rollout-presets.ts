import { NO_LIMITS } from './limits';
import type { RolloutLimits } from './limits';
import { DEFAULT_PARSE_ERRORS } from './parse-errors';
import type { ParseErrorPolicy } from './parse-errors';
import { DEFAULT_TERMINATION } from './termination';
import type { TerminationPolicy } from './termination';

/** Everything that bounds a rollout. */
export interface RolloutRules {
  readonly limits: RolloutLimits;
  /** null leaves unreadable completions to the environment. */
  readonly parseErrors: ParseErrorPolicy | null;
  /** null leaves rewards as graded. */
  readonly termination: TerminationPolicy | null;
  readonly toolExecution: 'parallel' | 'sequential';
}

/** The field's presets: no bounds for one question and answer, and bounds for agents with tools. */
export const ROLLOUT_PRESETS: Readonly<Record<'simple' | 'agentic', RolloutRules>> = {
  simple: { limits: NO_LIMITS, parseErrors: null, termination: null, toolExecution: 'parallel' },
  agentic: {
    limits: { ...NO_LIMITS, maxTurns: 10, maxRolloutTokens: 65_536, maxToolCalls: 30 },
    parseErrors: { ...DEFAULT_PARSE_ERRORS, maxConsecutive: 2 },
    termination: {
      ...DEFAULT_TERMINATION,
      zeroRewardOnLimit: true,
      skipGradingOnTimeout: true,
      graderTimeoutSeconds: 900,
    },
    toolExecution: 'sequential',
  },
};
