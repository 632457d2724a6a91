import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { countAt, objectIn, textAt } from './answer-fields';

/** What one process tells the others that use the same endpoint. */
export interface ProcessNote {
  /** Counts the writes: a note that changes is a process that lives, whatever the clocks of two hosts say. */
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly inFlight: number;
  readonly waiting: number;
  /** What it may have in flight, or has. */
  readonly limit: number;
  /** How long the server has asked it to wait; not what it learned from others, or they would go on telling each other. */
  readonly holdMs: number;
}

export interface NamedNote extends ProcessNote {
  readonly name: string;
  /** Not read before. */
  readonly isNew: boolean;
}

interface Sighting {
  readonly sequence: number;
  readonly changedAt: number;
  readonly isLive: boolean;
}

const STALE_AFTER_MS = 5_000;
/** What a dead process left is tidied away by any other. */
const REMOVED_AFTER_MS = 60_000;

/**
 * One small file for each process in a folder that all of them see:
 *
 *     <folder>/<host>-<pid>-<random>.json   {"pid","host","sequence","at","inFlight","waiting","limit","holdMs"}
 */
export class ProcessFiles {
  readonly name = `${hostname().replace(/[^\w.-]/g, '_')}-${process.pid}-${randomUUID().slice(0, 8)}.json`;
  private readonly sightings = new Map<string, Sighting>();
  private sequence = 0;

  constructor(private readonly folder: string) {}

  async write(note: Omit<ProcessNote, 'sequence' | 'at'>): Promise<void> {
    this.sequence += 1;
    const row = {
      pid: process.pid,
      host: hostname(),
      sequence: this.sequence,
      at: Date.now(),
      ...note,
    };
    await mkdir(this.folder, { recursive: true });
    const temporary = join(this.folder, `.${this.name}.tmp`);
    await writeFile(temporary, `${JSON.stringify(row)}\n`);
    await rename(temporary, join(this.folder, this.name));
  }

  async remove(): Promise<void> {
    await rm(join(this.folder, this.name), { force: true });
  }

  /** The others that live, in the order of their names. */
  async readOthers(): Promise<NamedNote[]> {
    const names = (await readdir(this.folder)).filter(
      (name) => name.endsWith('.json') && !name.startsWith('.') && name !== this.name,
    );
    for (const name of this.sightings.keys()) if (!names.includes(name)) this.sightings.delete(name);
    const notes = await Promise.all(names.sort().map((name) => this.readOther(name)));
    return notes.filter((note) => note !== null);
  }

  private async readOther(name: string): Promise<NamedNote | null> {
    const path = join(this.folder, name);
    // Gone since the folder was listed, or half copied by a file system without atomic renames.
    const note = noteIn(await readFile(path, 'utf8').catch(() => ''));
    if (!note) return null;
    const isNew = this.sightings.get(name)?.sequence !== note.sequence;
    const sighting = this.sight(name, note);
    this.sightings.set(name, sighting);
    if (performance.now() - sighting.changedAt > REMOVED_AFTER_MS) await rm(path, { force: true });
    return sighting.isLive ? { ...note, name, isNew } : null;
  }

  /** A note seen for the first time counts by its clock, later ones by whether they change. */
  private sight(name: string, { sequence, at }: ProcessNote): Sighting {
    const before = this.sightings.get(name);
    const now = performance.now();
    if (!before) {
      const isFresh = Math.abs(Date.now() - at) < STALE_AFTER_MS;
      return { sequence, changedAt: now, isLive: isFresh };
    }
    if (before.sequence !== sequence) return { sequence, changedAt: now, isLive: true };
    return { ...before, isLive: before.isLive && now - before.changedAt < STALE_AFTER_MS };
  }
}

function noteIn(text: string): ProcessNote | null {
  const row = objectIn(text);
  if (!row || textAt(row, 'host') === null) return null;
  const count = (key: string): number => countAt(row, key) ?? 0;
  return {
    sequence: count('sequence'),
    at: count('at'),
    inFlight: count('inFlight'),
    waiting: count('waiting'),
    limit: count('limit'),
    holdMs: count('holdMs'),
  };
}
