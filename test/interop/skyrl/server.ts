import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { hasErrorCode } from '../../../src/core/error-code';
import { cleanEnvironment } from '../processes';
import type { SkyrlEnvironment } from './environment';

export interface SkyrlPlan {
  readonly environment: SkyrlEnvironment;
  /** Checkpoints, database and log. */
  readonly folder: string;
  readonly port: number;
  /** Folder of the base model; also the model's name. */
  readonly model: string;
}

const SCRIPT = path.join(__dirname, 'python/serve.py');
/** Each run needs an adapter, each sampler one more; the first is the base model's. */
const BACKEND = { max_lora_adapters: 8, max_lora_rank: 8, sample_max_num_sequences: 16 };
const START_MS = 5 * 60_000;
const STOP_MS = 15_000;
const LAST_WORDS = 2000;

/** A SkyRL server: an API process and its engine, in one process group. Models die with it, checkpoints do not. */
export class SkyrlServer {
  private child: ChildProcess | null = null;

  constructor(private readonly plan: SkyrlPlan) {}

  get url(): string {
    return `http://127.0.0.1:${this.plan.port}`;
  }

  async start(): Promise<void> {
    const { folder } = this.plan;
    mkdirSync(folder, { recursive: true });
    const log = openSync(this.logFile, 'a');
    const [command = '', ...args] = this.command();
    const child = spawn(command, args, {
      cwd: folder,
      env: this.variables(),
      // A pipe by which it knows when this process has gone.
      stdio: ['pipe', log, log],
      detached: true,
    });
    closeSync(log);
    this.child = child;
    const failed = new Promise<never>((_, reject) => child.once('error', reject));
    await Promise.race([this.isHealthy(child), failed]);
  }

  /** Resolves when the API has ended, for whatever reason. */
  async ended(): Promise<void> {
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise((resolve) => child.once('exit', resolve));
  }

  /** kill -9 of the API and the engine at once, as when the machine goes. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  async stop(): Promise<void> {
    const timer = setTimeout(() => {
      this.signal('SIGKILL');
    }, STOP_MS);
    await this.end('SIGTERM');
    clearTimeout(timer);
    // The engine may outlive an API that was asked to end.
    this.signal('SIGKILL');
    this.child = null;
  }

  /** Optimizer steps of all models in all lives of the server, by its own log. */
  appliedSteps(): number {
    return readFileSync(this.logFile, 'utf8').split('Applied optimizer step').length - 1;
  }

  private lastWords(): string {
    return readFileSync(this.logFile, 'utf8').slice(-LAST_WORDS);
  }

  private get logFile(): string {
    return path.join(this.plan.folder, 'server.log');
  }

  private command(): string[] {
    const { environment, folder, port, model } = this.plan;
    return [
      ...['nice', '-n', '15', environment.python, SCRIPT, 'api'],
      ...['--port', String(port), '--base-model', model],
      ...['--backend', 'jax', '--backend-config', JSON.stringify(BACKEND)],
      ...['--checkpoints-base', path.join(folder, 'checkpoints')],
      ...['--database-url', `sqlite:///${path.join(folder, 'skyrl.db')}`],
    ];
  }

  /** One thread: the model is too small for more, and others use the machine. */
  private variables(): NodeJS.ProcessEnv {
    const { checkout } = this.plan.environment;
    return cleanEnvironment({
      ...(checkout !== null && { PYTHONPATH: checkout }),
      EXIT_WITH_PARENT: '1',
      HF_HUB_OFFLINE: '1',
      JAX_COMPILATION_CACHE_DIR: this.plan.environment.compiledFolder,
      JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS: '0',
      JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES: '-1',
      JAX_PLATFORMS: 'cpu',
      OMP_NUM_THREADS: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      TOKENIZERS_PARALLELISM: 'false',
      XLA_FLAGS: '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1',
    });
  }

  private async isHealthy(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + START_MS;
    while (performance.now() < deadline) {
      if (child.exitCode !== null) throw new Error(`SkyRL ended:\n${this.lastWords()}`);
      const answer = await fetch(`${this.url}/api/v1/healthz`).catch(() => null);
      if (answer?.ok) return;
      await pause(250);
    }
    throw new Error(`SkyRL did not become ready in ${START_MS / 1000} s:\n${this.lastWords()}`);
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const ended = this.ended();
    this.signal(signal);
    await ended;
  }

  /** To the whole group; one that is gone has got it already. */
  private signal(signal: NodeJS.Signals): void {
    const pid = this.child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (error) {
      if (!hasErrorCode(error, 'ESRCH')) throw error;
    }
  }
}
