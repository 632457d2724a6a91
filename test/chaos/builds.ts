import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Launchers of two builds of the program. */
export interface Builds {
  readonly current: string;
  /** What a developer deploys next: another version, and workflow code that differs without doing anything else. */
  readonly newer: string;
}

interface BuildScript {
  readonly build: (options: {
    ifNeeded: boolean;
    tolerateTypeErrors: boolean;
    announce: () => void;
  }) => Promise<unknown>;
}

/** Builds a checkout and copies what came out, so that nobody who works in it meanwhile changes what a run is made of. */
export async function copyBuilds(root: string, folder: string): Promise<Builds> {
  // A script of our own, in plain JavaScript.
  const { build } = (await import(path.join(root, 'scripts/build.js'))) as BuildScript;
  const announce = (): void => {
    process.stderr.write('Building dist/…\n');
  };
  await build({ ifNeeded: true, tolerateTypeErrors: true, announce });
  const current = copyBuild(root, path.join(folder, 'current'));
  const newer = copyBuild(root, path.join(folder, 'newer'));
  change(newer, 'package.json', (text) => text.replace(/"version": "[^"]*"/, '"version": "0.9.9"'));
  change(newer, 'dist/core/version.js', (text) => text.replace(/VERSION = '[^']*'/, "VERSION = '0.9.9'"));
  change(newer, 'dist/workflow-bundle.js', (text) => `void 'a newer build';${text}`);
  return { current: launcherOf(current), newer: launcherOf(newer) };
}

function launcherOf(folder: string): string {
  return path.join(folder, 'bin', 'everstep.js');
}

function copyBuild(root: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const name of ['bin', 'dist', 'package.json']) {
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  }
  for (const name of ['node_modules', 'models', 'data', 'configs']) {
    symlinkSync(path.join(root, name), path.join(folder, name));
  }
  return folder;
}

function change(folder: string, name: string, edit: (text: string) => string): void {
  const file = path.join(folder, name);
  const before = readFileSync(file, 'utf8');
  const after = edit(before);
  if (after === before) throw new Error(`${name} could not be changed for the newer build.`);
  writeFileSync(file, after);
}
