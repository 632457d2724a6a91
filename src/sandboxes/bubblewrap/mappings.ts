import { readFile } from 'node:fs/promises';
import { familyOf, placeOf, readText } from './process-family';

/** Of one process, as the system tells it: a line each. */
export interface Mappings {
  /** Where the system tells of the process. */
  readonly place: string;
  readonly text: string;
}

/** Text of `/proc/<pid>/maps` that is looked at; a line has about a hundred characters, and each mapping takes that of the system's memory. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

/** What the processes of a program have mapped; null where that is more than can be looked at. */
export async function mappingsOf(pid: number): Promise<Mappings[] | null> {
  const mappings: Mappings[] = [];
  let characters = 0;
  for (const place of familyOf(pid).map(placeOf)) {
    const text = await readFile(`${place}/maps`, 'utf8').catch(() => '');
    characters += text.length;
    if (characters > MOST_CHARACTERS) return null;
    mappings.push({ place, text });
  }
  return mappings;
}

/** The same of a program that stands still. */
export function mappingsAtRest(pid: number): Mappings[] {
  return familyOf(pid)
    .map(placeOf)
    .map((place) => ({ place, text: readText(`${place}/maps`) }));
}
