import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { findStack } from '../../../src/stack/stack-record';
import type { StackRecord } from '../../../src/stack/stack-record';
import type { Ended } from './run-here';
import { runHere } from './run-here';

export type { Ended };

const ROOT = path.resolve(__dirname, '../../..');
const LAUNCHER = path.join(ROOT, 'bin/everstep.js');

/** A command under way. */
export class Command {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;

  constructor(readonly child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = new Promise((resolve) => {
      child.once('close', (code) => {
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  /** Waits until the command has said this. */
  async says(pattern: RegExp): Promise<void> {
    await until(() => {
      if (pattern.test(this.stdout + this.stderr)) return true;
      if (this.child.exitCode !== null) throw new Error(`ended without it:\n${this.stdout}${this.stderr}`);
      return false;
    });
  }
}

/** One person's folder, with a space in its path: state, store and configs of one test; nothing is shared. */
export class Place {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'everstep e2e '));
  readonly data = path.join(this.folder, 'state');
  /** What the commands started from here on find in their environment besides ours. */
  variables: Readonly<Record<string, string>> = {};
  private readonly commands: Command[] = [];

  /** The installed program, as a person starts it here. */
  start(...args: readonly string[]): Command {
    return this.spawn(process.execPath, [LAUNCHER, ...args]);
  }

  /** As a person does who installed the package here. */
  startByNpx(...args: readonly string[]): Command {
    const links = path.join(this.folder, 'node_modules', '.bin');
    mkdirSync(links, { recursive: true });
    symlinkSync(LAUNCHER, path.join(links, 'everstep'));
    return this.spawn('npx', ['everstep', ...args]);
  }

  private spawn(program: string, args: readonly string[]): Command {
    const child = spawn(program, [...args, '--data-dir', this.data], {
      cwd: this.folder,
      env: this.environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const command = new Command(child);
    this.commands.push(command);
    return command;
  }

  run(...args: readonly string[]): Promise<Ended> {
    return this.start(...args).ended;
  }

  /** The same command in this process: far cheaper, where a process of its own proves nothing more. */
  runHere(...args: readonly string[]): Promise<Ended> {
    return runHere([...args, '--data-dir', this.data], this.environment());
  }

  /** What a command's `--json` says: one document and nothing else. */
  async ask<Answer>(...args: readonly string[]): Promise<Answer> {
    const { code, stdout, stderr } = await this.runHere(...args, '--json');
    if (code !== 0) throw new Error(`everstep ${args.join(' ')}: exit ${String(code)}\n${stderr}`);
    return JSON.parse(stdout) as Answer;
  }

  async dev(): Promise<Command> {
    const dev = this.start('dev');
    await dev.says(/Ready/);
    return dev;
  }

  stack(): StackRecord {
    const stack = findStack(this.data);
    if (stack === null) throw new Error('no stack on record');
    return stack;
  }

  /** Processes whose command line names this place, with their command lines. */
  processes(): { readonly pid: number; readonly line: string }[] {
    const lines = execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8', maxBuffer: 1e7 }).split(
      '\n',
    );
    return lines
      .filter((line) => line.includes(this.folder) && !/^\s*\d+ Z/.test(line))
      .map((line) => ({ pid: Number.parseInt(line, 10), line }));
  }

  killAll(): void {
    for (const { pid } of this.processes()) kill(pid);
  }

  write(name: string, text: string): string {
    const file = path.join(this.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** A small run on the shipped data, with evaluations of every kind of rhythm. */
  config(more: object = {}, name = 'small.json'): string {
    const shipped = readFileSync(path.join(ROOT, 'data/arithmetic/test.jsonl'), 'utf8').split('\n');
    this.write('held out.jsonl', `${shipped.slice(0, 16).join('\n')}\n`);
    const config = {
      kind: 'sft',
      model: 'everstep/tiny',
      dataset: {
        path: path.join(ROOT, 'data/arithmetic/train.jsonl'),
        limit: 512,
        testPath: 'held out.jsonl',
      },
      steps: 20,
      batchSize: 32,
      learningRate: 0.001,
      loraRank: 4,
      saveEvery: 10,
      evalEvery: 10,
      evaluators: [{ type: 'benchmark', benchmark: 'arithmetic', maxExamples: 8 }],
      ...more,
    };
    return this.write(name, JSON.stringify(config));
  }

  /** Text of a file of a run; empty where there is none. */
  read(run: string, name: string): string {
    const file = path.join(this.data, 'store/runs', run, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  stepsDone(run: string): number {
    return this.read(run, 'metrics.jsonl').split('\n').length - 1;
  }

  runFolders(): string[] {
    const folder = path.join(this.data, 'store/runs');
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  async remove(): Promise<void> {
    for (const { child, ended } of this.commands) {
      child.kill('SIGKILL');
      await ended;
    }
    await until(() => {
      this.killAll();
      return this.processes().length === 0;
    });
    rmSync(this.folder, { recursive: true, force: true });
  }

  private environment(): NodeJS.ProcessEnv {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(TEMPORAL_|TINKER_|npm_)/.test(name));
    return {
      ...Object.fromEntries(inherited),
      EVERSTEP_NO_BUILD: '1',
      EVERSTEP_HOME: this.data,
      ...this.variables,
    };
  }
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone already.
  }
}

/** Asks until it is so; the test's own limit ends a wait in vain. */
export async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resolve) => setTimeout(resolve, 20));
}
