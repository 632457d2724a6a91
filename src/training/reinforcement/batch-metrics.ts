import { METRIC_KEYS } from '../../core/metrics/metric-keys';
import { meanKl } from '../../core/reinforcement/kl-penalty';
import { prePostMetrics, sampleTrainMetrics } from '../../core/reinforcement/policy-metrics';
import { REINFORCEMENT_METRIC_KEYS } from '../../core/reinforcement/reinforcement-metric-keys';
import type { RolloutGroup } from '../../core/reinforcement/rollout';
import type { PolicyDatum } from '../../core/reinforcement/rollout-datums';
import {
  countRolloutErrors,
  NO_ROLLOUT_ERRORS,
  rolloutErrorMetrics,
} from '../../core/reinforcement/rollout-errors';
import { rolloutMetrics } from '../../core/reinforcement/rollout-metrics';
import type { SampledGroup } from '../rollouts/sample-group';
import type { BatchUpdate } from '../step-batch';
import type { LearnedPart } from './learning';
import { lossInputsDigest } from './loss-inputs-digest';
import { policyAges } from './policy-ages';

interface MeasuredBatch {
  readonly step: number;
  readonly groups: readonly SampledGroup[];
  readonly parts: readonly LearnedPart[];
  readonly updates: readonly BatchUpdate[];
}

/** What is said of a batch. What does not depend on the service's answers is worked out once, when it is first asked for. */
export class BatchMetrics {
  private outcome: Readonly<Record<string, number>> | null = null;
  private digest: string | null = null;

  constructor(private readonly batch: MeasuredBatch) {}

  /** SHA-256 of all that the step's loss is computed from. */
  get lossInputs(): string {
    this.digest ??= lossInputsDigest(this.batch.updates);
    return this.digest;
  }

  prepare(): void {
    this.outcome ??= outcomeMetrics(this.batch);
    this.digest ??= lossInputsDigest(this.batch.updates);
  }

  of(
    logprobs: readonly Float32Array[],
    newLogprobs: readonly Float32Array[],
  ): Readonly<Record<string, number>> {
    const { parts } = this.batch;
    this.outcome ??= outcomeMetrics(this.batch);
    return {
      ...this.outcome,
      ...learningMetrics(parts, logprobs),
      ...(newLogprobs.length > 0 && prePostMetrics(datumsOf(parts), newLogprobs)),
    };
  }
}

export function datumsOf(parts: readonly LearnedPart[]): PolicyDatum[] {
  return parts.flatMap(({ datums }) => datums);
}

/** What the step's rollouts were like, those that are not trained on included. */
function outcomeMetrics({ groups, step }: MeasuredBatch): Record<string, number> {
  const errors = groups.reduce(countRolloutErrors, NO_ROLLOUT_ERRORS);
  return {
    ...rolloutMetrics(groups satisfies readonly RolloutGroup[]),
    ...rolloutErrorMetrics(errors),
    ...policyAges(groups, step),
  };
}

function learningMetrics(
  parts: readonly LearnedPart[],
  logprobs: readonly Float32Array[],
): Record<string, number> {
  const datums = datumsOf(parts);
  const references = parts.flatMap((part) => part.references ?? []);
  return {
    [METRIC_KEYS.tokens]: datums.reduce((sum, { datum }) => sum + datum.tokens.length, 0),
    [METRIC_KEYS.sequences]: datums.length,
    ...sampleTrainMetrics(datums, logprobs),
    ...(references.length > 0 && {
      [REINFORCEMENT_METRIC_KEYS.klPolicyBase]: meanKl(datums, references),
    }),
  };
}
