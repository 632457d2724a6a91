import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { Datum } from '../../core/datum';
import { DomainError } from '../../core/errors';
import { policyLoss, policyLossSettings } from '../../core/reinforcement/policy-losses';
import type { PolicyDatum } from '../../core/reinforcement/rollout-datums';
import { minibatchPlace, planMinibatches, splitIntoSubsteps } from '../../core/reinforcement/substeps';
import { rolloutPage } from '../../evaluation/pages/rollout-page';
import type { SampledGroup } from '../rollouts/sample-group';
import type { BatchPart, BatchSource, BatchUpdate, StepBatch } from '../step-batch';
import { BatchMetrics, datumsOf } from './batch-metrics';
import type { SequenceLoss } from './derived-loss';
import { derivedLossOf } from './derived-loss';
import type { JournalledGroup, LearnedPart } from './learning';
import { Learner } from './learning';
import type { GroupRange, RolloutJournal } from './rollout-journal';
import { shownGroup } from './shown-group';

export interface ReinforcementBatchOptions {
  readonly run: string;
  readonly config: ReinforcementConfig;
  readonly journal: RolloutJournal;
  /** The loss that a plug-in brings, where the config names one. */
  readonly pluginLoss?: SequenceLoss | undefined;
  /** Problems of one pass over the dataset. */
  readonly problemCount: number;
}

type Journalled = JournalledGroup<SampledGroup>;

/** Batches made of journalled rollouts: the same groups in the same order give the same requests, whoever reads them. */
export function createReinforcementBatches(options: ReinforcementBatchOptions): BatchSource {
  const { config, problemCount, journal } = options;
  const isStreamed = config.streamedMinibatches > 0;
  const learner = new Learner(config);
  const isSentAsLearnt = !isComputedHere(config);
  return {
    async batch(step): Promise<StepBatch> {
      const cut = cutOf(config);
      const journalled = await readGroups(journal, { step, first: 0, count: config.groupsPerBatch });
      const parts = cut.map(({ first, count }) => learner.learn(journalled.slice(first, first + count)));
      const updates = isStreamed ? updatesOfParts(config, cut, parts) : updatesOf(options, parts);
      const metrics = new BatchMetrics({
        step,
        groups: journalled.map(({ group }) => group),
        parts,
        updates,
      });
      return {
        updates,
        tokenCount: datumsOf(parts).reduce((sum, { datum }) => sum + datum.tokens.length, 0),
        epoch: Math.floor(((step - 1) * config.groupsPerBatch) / problemCount),
        ...(config.computePostKl && { remeasured: datumsOf(parts).map(({ datum }) => datum) }),
        metrics: (logprobs, newLogprobs) => metrics.of(logprobs, newLogprobs),
        timing: () => ({ loss_inputs: metrics.lossInputs }),
        prepare: () => {
          metrics.prepare();
        },
        ...(config.numGroupsToLog > 0 && { report: () => writePage(options, step, journalled) }),
      };
    },

    isReady: (step, early) =>
      journal.isComplete(step, config.groupsPerBatch, (group) => {
        const learnt = learner.learnAhead(group);
        if (isSentAsLearnt) early?.(learnt.map(({ datum }) => datum));
      }),
    ...(isStreamed && {
      parts: (step: number, signal: AbortSignal) => streamParts(options, learner, { step, signal }),
    }),
  };
}

/** Groups that are sent together, and whether an update follows. */
interface Cut {
  readonly first: number;
  readonly count: number;
  readonly endsUpdate: boolean;
}

/** Fixed by the config alone, whatever order groups are done in, so that it need not be remembered. */
function cutOf(config: ReinforcementConfig): Cut[] {
  const { groupsPerBatch, numSubsteps: substepCount, streamedMinibatches: minibatchCount } = config;
  if (minibatchCount === 0) return [{ first: 0, count: groupsPerBatch, endsUpdate: true }];
  const plan = planMinibatches({ groupsPerBatch, substepCount, minibatchCount });
  const count = plan.groupsPerMinibatch;
  return Array.from({ length: groupsPerBatch / count }, (_, index) => {
    const first = index * count;
    return { first, count, endsUpdate: minibatchPlace(plan, first + count - 1).endsSubstep };
  });
}

async function* streamParts(
  { config, journal }: ReinforcementBatchOptions,
  learner: Learner,
  { step, signal }: { readonly step: number; readonly signal: AbortSignal },
): AsyncGenerator<BatchPart> {
  for (const { first, count, endsUpdate } of cutOf(config)) {
    await journal.awaitGroups({ step, first, count }, signal);
    const { datums } = learner.learn(await readGroups(journal, { step, first, count }));
    yield { ...lossOf(config), data: datums.map(({ datum }) => datum), endsUpdate };
  }
}

async function readGroups(
  journal: RolloutJournal,
  { step, first, count }: GroupRange,
): Promise<Journalled[]> {
  const found: Journalled[] = [];
  for (let group = first; group < first + count; group++) {
    const journalled = await journal.read(step, group);
    if (journalled === null) throw missingGroup(step, group);
    found.push(journalled);
  }
  return found;
}

/** Near-equal shares of all sequences, one an update. */
function updatesOf(
  { config, pluginLoss }: ReinforcementBatchOptions,
  parts: readonly LearnedPart[],
): BatchUpdate[] {
  return splitIntoSubsteps(datumsOf(parts), config.numSubsteps).map((share) => ({
    ...lossOf(config),
    parts: [share.map(({ datum }) => datum)],
    ...derivedOf(config, pluginLoss, share),
  }));
}

/** One update for the parts up to each that ends one. */
function updatesOfParts(
  config: ReinforcementConfig,
  cut: readonly Cut[],
  parts: readonly LearnedPart[],
): BatchUpdate[] {
  const updates: Datum[][][] = [];
  let open: Datum[][] = [];
  cut.forEach(({ endsUpdate }, index) => {
    open.push((parts[index]?.datums ?? []).map(({ datum }) => datum));
    if (!endsUpdate) return;
    updates.push(open);
    open = [];
  });
  return updates.map((each) => ({ ...lossOf(config), parts: each }));
}

/** The service then gets the slopes of the loss. */
function isComputedHere({ lossFunction }: ReinforcementConfig): boolean {
  return typeof lossFunction === 'object' || lossFunction === 'dro';
}

function lossOf({ lossFunction, lossConfig }: ReinforcementConfig): Omit<BatchUpdate, 'parts'> {
  // What is sent for it is decided when its slopes are known.
  if (typeof lossFunction === 'object') return { lossFn: 'cross_entropy', lossFnConfig: lossConfig };
  const settings = policyLossSettings(lossFunction, lossConfig);
  const hasSettings = Object.keys(settings).length > 0;
  return { lossFn: lossFunction, ...(hasSettings && { lossFnConfig: settings }) };
}

/**
 * Losses that are computed here: a plug-in's, and `dro`, of which the protocol has no mask. There its quadratic term would
 * also pull the prompt's tokens, and it is meant for completions alone (Richemond et al. 2024).
 */
function derivedOf(
  { lossFunction, lossConfig }: ReinforcementConfig,
  pluginLoss: SequenceLoss | undefined,
  datums: readonly PolicyDatum[],
): Pick<BatchUpdate, 'derived'> {
  if (typeof lossFunction === 'object') {
    // Whoever only reads what was trained on needs no plug-in.
    return pluginLoss ? { derived: derivedLossOf(pluginLoss, datums, lossConfig) } : {};
  }
  if (lossFunction !== 'dro') return {};
  const dro: SequenceLoss = (inputs, settings) => policyLoss('dro', inputs, settings);
  return { derived: derivedLossOf(dro, datums, policyLossSettings('dro', lossConfig)) };
}

async function writePage(
  { config, journal, run }: ReinforcementBatchOptions,
  step: number,
  journalled: readonly Journalled[],
): Promise<void> {
  const shown = journalled.slice(0, config.numGroupsToLog);
  const page = rolloutPage({
    title: `${run}, step ${step}`,
    groups: shown.map(({ group: sampled }, group) => shownGroup(group, sampled)),
    hiddenCount: journalled.length - shown.length,
    command: `everstep runs rollouts ${run} --step ${step} --groups ${journalled.length}`,
  });
  await journal.writePage(step, page);
}

function missingGroup(step: number, group: number): DomainError {
  return new DomainError(
    'unreachable',
    `Group ${group} of step ${step} is not in this worker's store. Start the worker with the --store the run was started with.`,
    { retryable: true },
  );
}
