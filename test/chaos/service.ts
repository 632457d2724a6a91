import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';

export interface ServiceOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** Told when the process ended although nobody here ended it. */
  readonly onOwnEnd: (how: string) => void;
}

const RESTART_DELAY_MS = 500;
/** A worker waits half a minute for its Temporal server. */
const READY_LIMIT_MS = 60_000;

/**
 * One long-lived process of a run, with what a person's process supervisor does: what ends by itself is started
 * again. What a disturbance takes down stays down until that disturbance starts it.
 */
export class Service {
  private child: ChildProcess | null = null;
  private isWanted = false;
  private ending: Promise<void> = Promise.resolve();
  /** Disturbances of one service take turns. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: ServiceOptions) {}

  /** One disturbance after the other, so that none starts what another holds down. */
  async exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = this.turn.then(work);
    this.turn = mine.catch(() => undefined);
    return mine;
  }

  /** Resolves when the service says that it is ready; starting it again if it gives up before. */
  async start(launcher: string): Promise<void> {
    this.isWanted = true;
    const deadline = performance.now() + READY_LIMIT_MS;
    while (!(await this.launch(launcher))) {
      if (performance.now() > deadline)
        throw new Error(`${this.options.name} does not get ready: ${this.lastLine()}`);
      await sleep(RESTART_DELAY_MS);
    }
  }

  async kill(): Promise<void> {
    this.isWanted = false;
    this.killNow();
    await this.ending;
  }

  /** As a deployment does it; kill -9 for one that takes too long. */
  async terminate(limitMs: number): Promise<void> {
    this.isWanted = false;
    this.child?.kill('SIGTERM');
    const timer = setTimeout(() => {
      this.killNow();
    }, limitMs);
    await this.ending;
    clearTimeout(timer);
  }

  freeze(): void {
    for (const pid of this.pids()) signal(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.pids()) signal(pid, 'SIGCONT');
  }

  private lastLine(): string {
    return readFileSync(this.options.logFile, 'utf8').trim().split('\n').at(-1) ?? '';
  }

  private killNow(): void {
    for (const pid of this.pids()) signal(pid, 'SIGKILL');
  }

  /** False where it is wanted and did not get ready. */
  private async launch(launcher: string): Promise<boolean> {
    if (!this.isWanted) return true;
    const { args, folder, env, logFile } = this.options;
    const log = createWriteStream(logFile, { flags: 'a' });
    const child = spawn(process.execPath, [launcher, ...args, '--exit-with-parent'], {
      cwd: folder,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // A process killed in this moment leaves a broken pipe, which says nothing new.
    child.stdin.on('error', () => undefined);
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    this.child = child;
    // A frozen process does not notice that its parent has gone.
    const killNow = (): void => {
      this.killNow();
    };
    process.once('exit', killNow);
    this.ending = new Promise((resolve) => {
      child.once('close', (code, how) => {
        process.off('exit', killNow);
        log.end();
        resolve();
        this.noteEnd(child, { launcher, how: `${code ?? how ?? ''}` });
      });
    });
    const isReady = await new Promise<boolean>((resolve) => {
      child.stdout.once('data', () => {
        resolve(true);
      });
      void this.ending.then(() => {
        resolve(false);
      });
    });
    this.wasReady = isReady;
    return isReady || !this.isWanted;
  }

  private wasReady = false;

  private noteEnd(child: ChildProcess, { launcher, how }: { launcher: string; how: string }): void {
    if (!this.isWanted || this.child !== child) return;
    this.options.onOwnEnd(`${this.options.name} ended by itself (${how})`);
    if (!this.wasReady) return;
    this.wasReady = false;
    setTimeout(() => {
      if (!this.isWanted) return;
      this.start(launcher).catch((error: unknown) => {
        this.options.onOwnEnd(String(error));
      });
    }, RESTART_DELAY_MS);
  }

  /** The process and what it started: the Temporal server proper is a child of ours. */
  private pids(): number[] {
    const pid = this.child?.pid;
    if (pid === undefined || this.child?.exitCode !== null || this.child.signalCode !== null) return [];
    return [...childrenOf(pid), pid];
  }
}

function childrenOf(pid: number): number[] {
  try {
    return execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
      .split('\n')
      .map(Number)
      .filter((child) => child > 0);
  } catch {
    // `ps` says so with its exit code where there are none.
    return [];
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has gone already.
  }
}

export async function sleep(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}
