import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Launchers of two builds of the program. */
export interface Builds {
  readonly current: string;
  /** What a developer deploys next: another version, and workflow code that differs without doing anything else. */
  readonly newer: string;
}

/** Builds a checkout and copies what came out, so that nobody who works in it meanwhile changes what a run is made of. */
export function copyBuilds(root: string, folder: string): Builds {
  const script = path.join(root, 'scripts/build.js');
  execFileSync(process.execPath, [script, '--if-needed', '--for-running'], { stdio: 'inherit' });
  const current = copyBuild(root, path.join(folder, 'current'));
  const newer = copyBuild(root, path.join(folder, 'newer'));
  change(newer, 'package.json', (text) => text.replace(/"version": "[^"]*"/, '"version": "0.9.9"'));
  change(newer, 'dist/core/version.js', (text) => text.replace(/VERSION = '[^']*'/, "VERSION = '0.9.9'"));
  change(newer, 'dist/workflow-bundle.js', (text) => `void 'a newer build';${text}`);
  return { current: launcherOf(current), newer: launcherOf(newer) };
}

/** The checkout's own build, where nobody works in it meanwhile and nothing newer is deployed. */
export function ownBuild(root: string): Builds {
  return { current: launcherOf(root), newer: launcherOf(root) };
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
