import type { ChildProcess } from 'node:child_process';
import { fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Moment } from './engine-traffic';
import type { EngineOrder, EngineReport } from './paced-engine';
import type { Pace } from './paced-runtime';
import type { WorkItem } from './work-items';

const ROOT = path.join(__dirname, '..');
export const PROGRAM = path.join(ROOT, 'bin', 'everstep.js');
export const JITI = path.join(path.dirname(require.resolve('jiti/package.json')), 'lib', 'jiti-cli.mjs');

/** `real` computes; `paced` keeps time and can be told how much. */
export type EngineKind = 'real' | 'paced';

/** Temporal, an engine and workers, each a process started as the product starts its own. */
export class BenchServices {
  private readonly children: ChildProcess[] = [];
  readonly folder = mkdtempSync(path.join(tmpdir(), 'everstep-bench-'));
  readonly store = path.join(this.folder, 'store');
  address = '';
  engineUrl = '';
  /** In the order they were started, dead ones too. */
  readonly workers: ChildProcess[] = [];
  private engine: ChildProcess | null = null;
  private temporal: ChildProcess | null = null;

  private constructor(
    private readonly kind: EngineKind,
    private readonly roles: readonly (readonly string[])[],
  ) {}

  /** With one worker of every role, or one for each list of roles. */
  static async start(
    kind: EngineKind = 'paced',
    roles: readonly (readonly string[])[] = [[]],
  ): Promise<BenchServices> {
    const services = new BenchServices(kind, roles);
    try {
      await services.startAll();
    } catch (error) {
      await services.stop();
      throw error;
    }
    return services;
  }

  /** From now on the engine takes this long; what it did before is forgotten. */
  async setPace(pace: Pace): Promise<void> {
    await this.tell({ order: 'pace', pace });
  }

  async takeWork(): Promise<readonly WorkItem[]> {
    return (await this.tell({ order: 'take' })).work;
  }

  async takeTraffic(): Promise<readonly Moment[]> {
    return (await this.tell({ order: 'take' })).traffic;
  }

  async stop(): Promise<void> {
    for (const child of [...this.children].reverse()) await stopChild(child);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Resolves when it polls. No roles are all roles. */
  async startWorker(roles: readonly string[] = []): Promise<ChildProcess> {
    const places = ['--data-dir', this.folder, '--store', this.store];
    const addresses = ['--temporal-address', this.address, '--engine', this.engineUrl];
    const some = roles.length === 0 ? [] : ['--roles', roles.join(',')];
    const worker = this.program('worker', ...places, ...addresses, ...some);
    this.workers.push(worker);
    await firstLine(worker);
    return worker;
  }

  get enginePid(): number {
    return this.engine?.pid ?? 0;
  }

  get temporalPid(): number {
    return this.temporal?.pid ?? 0;
  }

  private async startAll(): Promise<void> {
    const port = await freePort();
    this.address = `127.0.0.1:${port}`;
    const url = this.kind === 'paced' ? this.startPacedEngine() : this.startRealEngine();
    const places = ['--headless', '--data-dir', this.folder];
    this.temporal = this.program('temporal', '--port', String(port), ...places);
    await Promise.all([url, firstLine(this.temporal)]);
    this.engineUrl = await url;
    for (const roles of this.roles) await this.startWorker(roles);
  }

  private startPacedEngine(): Promise<string> {
    this.engine = fork(JITI, [path.join(__dirname, 'paced-engine.ts'), path.join(this.folder, 'engine')]);
    this.children.push(this.engine);
    return nextMessage<string>(this.engine);
  }

  private async startRealEngine(): Promise<string> {
    const port = await freePort();
    this.engine = this.program('engine', '--port', String(port), '--data-dir', this.folder);
    await firstLine(this.engine);
    return `http://127.0.0.1:${port}`;
  }

  private program(...args: string[]): ChildProcess {
    const child = startProgram([...args, '--exit-with-parent']);
    this.children.push(child);
    return child;
  }

  private async tell(order: EngineOrder): Promise<EngineReport> {
    const { engine } = this;
    if (!engine) throw new Error('The engine is not running.');
    const answer = nextMessage<EngineReport>(engine);
    engine.send(order);
    return answer;
  }
}

/** The built program in a process of its own. It ends when this process does: its stdin is a pipe from here. */
export function startProgram(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, EVERSTEP_NO_BUILD: '1', TEMPORAL_ADDRESS: undefined },
  });
  child.stderr.resume();
  return child;
}

/** Resolves with the output up to and with the first line in which `text` stands. */
export async function firstLine(child: ChildProcess, text = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      complaint = (complaint + part).slice(-2000);
    });
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      output += part;
      if (output.includes('\n') && output.includes(text)) resolve(output);
    });
    child.once('exit', (code) => {
      reject(new Error(`${child.spawnargs.slice(2).join(' ')} ended with ${code}: ${output}${complaint}`));
    });
  });
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const end = (code: number | null): void => {
      reject(new Error(`The paced engine ended with ${code}.`));
    };
    child.once('exit', end);
    child.once('message', (message) => {
      child.off('exit', end);
      // Our own child: it sends what its only caller expects.
      resolve(message as Message);
    });
  });
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
      });
    });
  });
}
