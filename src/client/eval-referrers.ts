import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { isValidName } from '../core/names';
import { shellWord } from '../core/shell-word';
import { createCanaryStore } from '../stores/canary-store';
import { namesIn } from '../stores/folder-names';
import { readJsonIfThere, unlessNoFile } from '../stores/whole-file';
import { isPathWithin, placeOfReference } from './references';
import type { RunRecords } from './run-records';

/** Something of the store that may refer to results of an eval run. */
export interface Referrer {
  /** As it is called, e.g. `eval run mine`. */
  readonly what: string;
  readonly remedy: string;
  /** Name of the eval run that it is; null for everything else. */
  readonly evalRun: string | null;
  readonly value: object;
}

interface ReferrerSources {
  readonly store: string;
  readonly records: RunRecords;
  /** Of the schedules there are; null where no server says: then all that left something count. */
  readonly scheduleNames: () => Promise<readonly string[] | null>;
  /** Null where no server says. */
  readonly isBackfillOpen: (name: string) => Promise<boolean | null>;
}

/**
 * Everything of a store that can refer to results: other eval runs, training runs, backfills that have not ended and schedules. What nobody can read,
 * as a link to itself or a pipe in a file's place, refers to nothing.
 */
export async function findReferrers(sources: ReferrerSources): Promise<Referrer[]> {
  const found = await Promise.all([
    evalRuns(sources),
    trainingRuns(sources),
    backfills(sources),
    schedules(sources),
  ]);
  return found.flat();
}

/** Whether texts of the store name an eval run, its folder or something in it. */
export async function referenceToResults(
  folder: string,
  run: string,
): Promise<(text: string, key: string) => boolean> {
  const real = await realpath(folder).catch(() => folder);
  const within = `evals/${run}`;
  return (text, key) =>
    (key === 'evalRun' && text === run) ||
    isPathWithin(folder, text) ||
    isPathWithin(real, text) ||
    (!path.isAbsolute(text) && (`/${text}`.endsWith(`/${within}`) || `/${text}`.includes(`/${within}/`)));
}

/** The place of the first reference in what refers. */
export function placeIn({ value }: Referrer, isReference: (text: string, key: string) => boolean) {
  return placeOfReference(value, isReference);
}

/** Their requests say whose answers they took or judged, and their plans what became of it. */
async function evalRuns({ store }: ReferrerSources): Promise<Referrer[]> {
  const folder = path.join(store, 'evals');
  const names = (await namesIn(folder)).filter(isValidName);
  const found = names.map(async (name) => {
    const own = path.join(folder, name);
    const cells = (await namesIn(own)).filter((cell) => !cell.startsWith('.'));
    const plans = cells.flatMap((cell) => [
      path.join(own, cell, 'journal', 'plan.json'),
      path.join(own, cell, 'cell.json'),
    ]);
    const documents = [path.join(own, 'metadata.json'), ...plans];
    const values = await Promise.all(documents.map((file) => readJsonIfThere(file)));
    return {
      what: `eval run ${name}`,
      remedy: `delete that one too, or first, with \`everstep results delete ${shellWord(name)}\``,
      evalRun: name,
      value: values.filter((value) => value !== null),
    };
  });
  return Promise.all(found);
}

async function trainingRuns({ store, records }: ReferrerSources): Promise<Referrer[]> {
  const names = (await namesIn(path.join(store, 'runs'))).filter(isValidName);
  const found = names.map(async (name) => ({
    what: `run ${name}`,
    remedy: `delete that one first with \`everstep runs delete ${shellWord(name)}\``,
    evalRun: null,
    value: await records.readConfig(name).catch(() => ({})),
  }));
  return Promise.all(found);
}

/** One that has ended looks for its cells anew when it is asked for again: what it noted then refers to nothing. */
async function backfills({ store, isBackfillOpen }: ReferrerSources): Promise<Referrer[]> {
  const folder = path.join(store, 'backfills');
  const files = (await namesIn(folder)).filter((file) => file.endsWith('.json') && !file.startsWith('.'));
  const found = files.map(async (file): Promise<Referrer[]> => {
    const name = file.slice(0, -'.json'.length);
    const value = (await readJsonIfThere<object>(path.join(folder, file))) ?? {};
    const isOpen = isValidName(name) ? await isBackfillOpen(name) : false;
    if (!(isOpen ?? mayGoOn(value))) return [];
    const remedy =
      isOpen === null
        ? 'no server says whether it goes on: start `everstep dev`'
        : 'it is under way: wait for its end';
    return [{ what: `backfill ${name}`, remedy, evalRun: null, value }];
  });
  return (await Promise.all(found)).flat();
}

const UNFINISHED = z.object({
  cells: z.array(
    z
      .object({ status: z.enum(['unknown', 'missing', 'running']) })
      .nullable()
      .catch(null),
  ),
});

/** By what it noted last. */
function mayGoOn(record: object): boolean {
  const parsed = UNFINISHED.safeParse(record);
  return parsed.success && parsed.data.cells.some((cell) => cell !== null);
}

/** Scores are held against the pin, and the newest firing is what is shown; of earlier ones their rows are enough. */
async function schedules({ store, scheduleNames }: ReferrerSources): Promise<Referrer[]> {
  const there = await scheduleNames();
  const names = (await namesIn(path.join(store, 'schedules'))).filter(isValidName);
  const found = names
    .filter((name) => there?.includes(name) ?? true)
    .map(async (name) => {
      const canary = createCanaryStore(store, name);
      const [pin, firings] = await Promise.all([
        // What a damaged one names is kept too.
        readJsonIfThere<object>(path.join(canary.folder, 'pin.json')),
        unlessNoFile(canary.readFirings(), []),
      ]);
      return {
        what: `schedule ${name}`,
        remedy: `delete that one first with \`everstep schedule delete ${shellWord(name)}\``,
        evalRun: null,
        value: { ...(pin && { pin }), newest: firings.slice(-1) },
      };
    });
  return Promise.all(found);
}
