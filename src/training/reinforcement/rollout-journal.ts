import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { writeWholeFile } from '../../stores/whole-file';
import type { RolloutFiles } from '../rollouts/rollout-files';
import { openRolloutFiles } from '../rollouts/rollout-files';
import type { SampledGroup } from '../rollouts/sample-group';
import type { JournalledGroup } from './learning';
import type { ReferenceFiles } from './reference-files';
import { openReferenceFiles } from './reference-files';

export interface GroupRange {
  readonly step: number;
  readonly first: number;
  readonly count: number;
}

type OnRead = (group: JournalledGroup<SampledGroup>) => void;

const LOOK_EVERY_MS = 15;

/** The rollouts of a run as they are stored: which groups are done, and what they were. */
export class RolloutJournal {
  readonly files: RolloutFiles;
  readonly references: ReferenceFiles;
  /** Groups of the step that is waited for, read as they come, so that the last is all there is left to read. */
  private readonly ahead = new Map<number, JournalledGroup<SampledGroup>>();
  private aheadOfStep = -1;

  constructor(
    private readonly runFolder: string,
    private readonly needsReference: boolean,
  ) {
    this.files = openRolloutFiles(runFolder);
    this.references = openReferenceFiles(runFolder);
  }

  /** null while the group is not done. */
  async read(step: number, group: number): Promise<JournalledGroup<SampledGroup> | null> {
    const known = step === this.aheadOfStep ? this.ahead.get(group) : undefined;
    if (known) return known;
    const sampled = await this.files.readGroup({ step, group });
    if (sampled === null) return null;
    if (!this.needsReference) return { group: sampled, reference: null };
    const reference = await this.references.read(step, group);
    return reference === null ? null : { group: sampled, reference };
  }

  /** Whether the first groups of a step are all done. `onRead` hears of those that were not known to be. */
  async isComplete(step: number, groupCount: number, onRead?: OnRead): Promise<boolean> {
    return this.isDone({ step, first: 0, count: groupCount }, onRead);
  }

  /** Resolves once the groups are done; throws when the signal fires before. */
  async awaitGroups(range: GroupRange, signal: AbortSignal): Promise<void> {
    while (!(await this.isDone(range))) await setTimeout(LOOK_EVERY_MS, undefined, { signal });
    signal.throwIfAborted();
  }

  /** `rollouts/<step>/rollouts.html`: the step's first groups, for people. */
  async writePage(step: number, page: string): Promise<void> {
    await writeWholeFile(join(this.runFolder, 'rollouts', String(step), 'rollouts.html'), page);
  }

  private async isDone({ step, first, count }: GroupRange, onRead?: OnRead): Promise<boolean> {
    const listed = this.needsReference ? await this.references.list(step) : await this.files.listGroups(step);
    const found = listed.filter((group) => group >= first && group < first + count);
    await this.readAhead(step, found, onRead);
    return found.length === count;
  }

  private async readAhead(step: number, groups: readonly number[], onRead?: OnRead): Promise<void> {
    if (step !== this.aheadOfStep) this.ahead.clear();
    this.aheadOfStep = step;
    for (const group of groups) {
      if (this.ahead.has(group)) continue;
      const read = await this.read(step, group);
      if (read === null || step !== this.aheadOfStep) continue;
      this.ahead.set(group, read);
      onRead?.(read);
    }
  }
}
