import { join } from 'node:path';
import type { ReinforcementConfig } from '../../config/reinforcement-config';
import { DomainError } from '../../core/errors';
import { groupRewards } from '../../core/reinforcement/rollout';
import type { TimingRow } from '../../core/run';
import { namesIn } from '../../stores/folder-names';
import type { SampledGroup } from '../rollouts/sample-group';
import type { RunRecord } from '../run-folder';
import type { JournalledGroup } from './learning';
import { groupAdvantagesOf } from './learning';
import { lossInputsDigest } from './loss-inputs-digest';
import { createReinforcementBatches } from './reinforcement-batches';
import { RolloutJournal } from './rollout-journal';

/** Where a run's files are, and what it recorded of its steps. */
export interface ReplaySource {
  readonly record: RunRecord;
  readonly folder: string;
  readonly timing: readonly TimingRow[];
}

interface ReplayedGroup {
  readonly group: number;
  readonly id: string;
  readonly rewards: readonly number[];
  /** Of whole rollouts; null where each token has its own. */
  readonly advantages: readonly number[] | null;
}

export interface ReplayedStep {
  readonly step: number;
  readonly groups: readonly ReplayedGroup[];
  readonly updates: number;
  readonly sequences: number;
  readonly tokens: number;
  /** SHA-256 of the loss inputs as recomputed, and as they were when the step was trained; null before it was. */
  readonly digest: string;
  readonly recordedDigest: string | null;
  readonly matches: boolean | null;
}

const SHOWN_RANGES = 5;

/** Computes once more, from the journal alone, what a step was trained on. */
export async function replayStep(source: ReplaySource, step: number): Promise<ReplayedStep> {
  const config = requireReinforcement(source.record);
  const journal = journalOf(source);
  const journalled = await readStep(source, step);
  const { data, run } = source.record;
  const batches = createReinforcementBatches({ run, config, journal, problemCount: data.trainCount });
  const batch = await batches.batch(step);
  const digest = lossInputsDigest(batch.updates);
  const recorded = source.timing.findLast((row) => row.step === step)?.['loss_inputs'];
  const recordedDigest = typeof recorded === 'string' ? recorded : null;
  return {
    step,
    groups: journalled.map(({ group }, index) => replayedGroup(config, group, index)),
    updates: batch.updates.length,
    sequences: batch.updates.reduce((sum, { parts }) => sum + parts.flat().length, 0),
    tokens: batch.tokenCount,
    digest,
    recordedDigest,
    matches: recordedDigest === null ? null : recordedDigest === digest,
  };
}

/** The rollouts of a step as they are journalled; refused where they are not all there. */
export async function readStep(
  source: Pick<ReplaySource, 'record' | 'folder'>,
  step: number,
): Promise<JournalledGroup<SampledGroup>[]> {
  const { groupsPerBatch } = requireReinforcement(source.record);
  const journal = journalOf(source);
  const found: JournalledGroup<SampledGroup>[] = [];
  for (let group = 0; group < groupsPerBatch; group++) {
    const journalled = await journal.read(step, group);
    if (journalled !== null) found.push(journalled);
  }
  if (found.length === groupsPerBatch) return found;
  const steps = stepsText(await sampledSteps(source));
  throw new DomainError(
    'bad-dataset',
    `Run "${source.record.run}" has ${found.length} of ${groupsPerBatch} groups of step ${step}. Give a step that was sampled: ${steps}.`,
  );
}

/** Steps whose groups are all journalled, the earliest first. */
export async function sampledSteps(source: Pick<ReplaySource, 'record' | 'folder'>): Promise<number[]> {
  const { groupsPerBatch } = requireReinforcement(source.record);
  const journal = journalOf(source);
  const begun = (await namesIn(join(source.folder, 'rollouts'))).filter((name) => /^\d+$/.test(name));
  const steps: number[] = [];
  for (const step of begun.map(Number).sort((a, b) => a - b)) {
    if (await journal.isComplete(step, groupsPerBatch)) steps.push(step);
  }
  return steps;
}

/** `1–3, 7`; the newest where there are many ranges. */
function stepsText(steps: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const step of steps) {
    const range = ranges.at(-1);
    if (range?.[1] === step - 1) range[1] = step;
    else ranges.push([step, step]);
  }
  const texts = ranges.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`));
  if (texts.length === 0) return 'there is none yet';
  return texts.length > SHOWN_RANGES ? `…, ${texts.slice(-SHOWN_RANGES).join(', ')}` : texts.join(', ');
}

function replayedGroup(config: ReinforcementConfig, group: SampledGroup, index: number): ReplayedGroup {
  const { id } = group;
  return { group: index, id, rewards: groupRewards(group), advantages: groupAdvantagesOf(config, group) };
}

function journalOf({ record, folder }: Pick<ReplaySource, 'record' | 'folder'>): RolloutJournal {
  return new RolloutJournal(folder, record.klReference !== undefined);
}

function requireReinforcement({ config, run }: RunRecord): ReinforcementConfig {
  if (config.kind === 'rl') return config;
  throw new DomainError(
    'bad-config',
    `Run "${run}" is of kind ${config.kind} and has no rollouts. Name one of kind rl.`,
  );
}
