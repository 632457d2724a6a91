import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';

export const ROOT = path.resolve(__dirname, '../..');
export const PROGRAM = path.join(ROOT, 'bin/everstep.js');
/** Enough of a failed program's words to see why. */
const KEPT_CHARACTERS = 4000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  /** Its last words. */
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly folder?: string;
  readonly environment?: NodeJS.ProcessEnv;
  readonly timeoutMs?: number;
  readonly onLine?: (line: string) => void;
}

/** Runs a program to its end; one that takes too long is killed, and its code is then null. */
export async function runProgram(
  [command = '', ...args]: readonly string[],
  { folder, environment, timeoutMs, onLine }: ProgramOptions = {},
): Promise<Ended> {
  const child = spawn(command, args, {
    ...(folder !== undefined && { cwd: folder }),
    env: environment ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(timeoutMs !== undefined && { timeout: timeoutMs, killSignal: 'SIGKILL' as const }),
  });
  let stdout = '';
  let stderr = '';
  let pending = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    const lines = (pending + text).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) onLine?.(line);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-KEPT_CHARACTERS);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stdout, stderr };
}

/** The environment without what would lead a program to other services than the ones started here. */
export function cleanEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(TEMPORAL_|TINKER_|EVERSTEP_)/.test(name));
  return { ...Object.fromEntries(kept), ...more };
}

export interface RunningEngine {
  readonly url: string;
  stop(): Promise<void>;
}

/** `everstep engine` in a process of its own, as a person starts it; `models` are further ones, each `NAME=FOLDER`. */
export async function startEngine(
  port: number,
  dataFolder: string,
  models: readonly string[] = [],
): Promise<RunningEngine> {
  const args = [PROGRAM, 'engine', '--port', String(port), '--data-dir', dataFolder, '--exit-with-parent'];
  const named = models.flatMap((model) => ['--model', model]);
  const child = await startProgram([process.execPath, ...args, ...named], 'ready at');
  return { url: `http://127.0.0.1:${port}`, stop: () => stopChild(child) };
}

/** A program that stays; it is there when it has said so. */
export async function startProgram(
  [command = '', ...args]: readonly string[],
  readyWords: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<ChildProcess> {
  const child = spawn(command, args, {
    env: cleanEnvironment(environment),
    // Its standard input is a pipe from here, by which it may know when this process has gone.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  await saysReady(child, readyWords);
  child.stdout.resume();
  child.stderr.resume();
  return child;
}

function saysReady(child: ChildProcess, readyWords: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let words = '';
    const listen = (text: string): void => {
      words = (words + text).slice(-KEPT_CHARACTERS);
      if (words.includes(readyWords)) resolve();
    };
    child.stdout?.setEncoding('utf8').on('data', listen);
    child.stderr?.setEncoding('utf8').on('data', listen);
    child.once('error', reject);
    child.once('exit', (code) => {
      reject(new Error(`${child.spawnargs.join(' ')} ended with ${String(code)}:\n${words}`));
    });
  });
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}
