import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const CORPUS = path.join(__dirname, 'corpus');

export interface CorpusFile {
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** Inputs that a parser once stumbled over, by their names. */
export function corpusOf(target: string): CorpusFile[] {
  const folder = path.join(CORPUS, target);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((file) => ({ file, bytes: readFileSync(path.join(folder, file)) }));
}

/** Folders of the corpus. */
export function corpusTargets(): string[] {
  return existsSync(CORPUS) ? readdirSync(CORPUS).sort() : [];
}

/** Keeps an input, under a name that its contents give. */
export function keepInput(target: string, bytes: Uint8Array): string {
  const file = path.join(CORPUS, target, createHash('sha256').update(bytes).digest('hex').slice(0, 12));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, bytes);
  return file;
}
