import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrorCode } from '../../core/error-code';
import { DomainError } from '../../core/errors';
import { makeFolderOf } from '../../stores/make-folder';
import { readWholeFile } from '../../stores/reading';
import { asStoreError } from '../../stores/system-errors';
import { createWholeFile } from '../../stores/whole-file';
import type { GroupPlace } from './rollout-rows';
import { groupFromText, groupText } from './rollout-rows';
import type { SampledGroup } from './sample-group';

/**
 * Rollouts of a run, a file a group:
 *
 *     rollouts/<step>/<group>.jsonl     a row for the group, a row for each rollout
 *
 * A file appears whole and is never changed: of two attempts at one group the first wins, and the other gets what is
 * there. One group is in memory at a time.
 */
export interface RolloutFiles {
  /** Makes room for a step's groups, before anything is paid for that could not be stored. */
  prepare(step: number): Promise<void>;
  /** Stores the group unless it is there already; gives what is stored. */
  write(place: GroupPlace, sampled: SampledGroup): Promise<SampledGroup>;
  /** null where it is not sampled yet. */
  readGroup(place: GroupPlace): Promise<SampledGroup | null>;
  /** Groups of a step that are done, in order. */
  listGroups(step: number): Promise<number[]>;
}

const GROUP_FILE = /^(0|[1-9]\d{0,8})\.jsonl$/;

export function openRolloutFiles(runFolder: string): RolloutFiles {
  return new FolderRolloutFiles(join(runFolder, 'rollouts'));
}

class FolderRolloutFiles implements RolloutFiles {
  constructor(private readonly folder: string) {}

  async prepare(step: number): Promise<void> {
    const folder = this.stepFolder(step);
    try {
      await makeFolderOf(join(folder, '0.jsonl'));
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST', 'ENOTDIR')) throw asStoreError(error, folder);
      throw new DomainError(
        'unreachable',
        `${folder} is to be a folder for rollouts, and a file is in its place. Move the file away.`,
        { retryable: true, cause: error },
      );
    }
  }

  async write(place: GroupPlace, sampled: SampledGroup): Promise<SampledGroup> {
    if (await createWholeFile(this.pathOf(place), groupText(place, sampled))) return sampled;
    return (await this.readGroup(place)) ?? sampled;
  }

  async readGroup(place: GroupPlace): Promise<SampledGroup | null> {
    const path = this.pathOf(place);
    const text = await readWholeFile(path);
    if (text === null) return null;
    const sampled = groupFromText(text, place);
    if (sampled !== null) return sampled;
    // Waited for: whoever removes it has the run go on.
    throw new DomainError(
      'unreachable',
      `${path} does not hold a whole group of rollouts of its step and number, in this version. Remove the file: a run that is ` +
        'under way then samples the group again.',
      { retryable: true },
    );
  }

  async listGroups(step: number): Promise<number[]> {
    try {
      const names = await readdir(this.stepFolder(step));
      return names.flatMap((name) => numberOf(name) ?? []).sort((left, right) => left - right);
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
      throw error;
    }
  }

  private pathOf({ step, group }: GroupPlace): string {
    return join(this.stepFolder(step), `${wholeNumber('group', group)}.jsonl`);
  }

  private stepFolder(step: number): string {
    return join(this.folder, String(wholeNumber('step', step)));
  }
}

function numberOf(fileName: string): number | null {
  const digits = GROUP_FILE.exec(fileName)?.[1];
  return digits === undefined ? null : Number(digits);
}

function wholeNumber(what: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new DomainError('store-conflict', `Rollouts have no ${what} ${value}. Count ${what}s from 0.`);
}
