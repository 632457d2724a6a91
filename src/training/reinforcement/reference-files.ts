import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasErrorCode } from '../../core/error-code';
import { createWholeFile, readJson } from '../../stores/whole-file';

/**
 * What a reference model thinks of a group's rollouts, beside the group:
 *
 *     rollouts/<step>/<group>.reference.json     per rollout and sequence, a log-probability for each target
 *
 * Written once, after the group; a group that needs it is done when both are there.
 */
export type GroupReference = readonly (readonly (readonly number[])[])[];

interface StoredReference {
  readonly version: 1;
  readonly logprobs: GroupReference;
}

export interface ReferenceFiles {
  read(step: number, group: number): Promise<GroupReference | null>;
  /** Groups of a step that have theirs. */
  list(step: number): Promise<number[]>;
  /** Gives what is stored. */
  write(step: number, group: number, logprobs: GroupReference): Promise<GroupReference>;
}

const REFERENCE_FILE = /^\d+\.reference\.json$/;

export function openReferenceFiles(runFolder: string): ReferenceFiles {
  const pathOf = (step: number, group: number) =>
    join(runFolder, 'rollouts', String(step), `${group}.reference.json`);
  const read = async (step: number, group: number) =>
    (await readJson<StoredReference>(pathOf(step, group)))?.logprobs ?? null;
  return {
    read,
    async list(step) {
      try {
        const names = await readdir(join(runFolder, 'rollouts', String(step)));
        return names.flatMap((name) => (REFERENCE_FILE.test(name) ? [Number.parseInt(name, 10)] : []));
      } catch (error) {
        if (hasErrorCode(error, 'ENOENT')) return [];
        throw error;
      }
    },
    async write(step, group, logprobs) {
      const content: StoredReference = { version: 1, logprobs };
      const isFirst = await createWholeFile(pathOf(step, group), `${JSON.stringify(content)}\n`);
      return isFirst ? logprobs : ((await read(step, group)) ?? logprobs);
    },
  };
}
