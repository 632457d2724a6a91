import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { TestStack } from './stack';

/** The production worker in a process of its own, to be killed as a machine kills it. */
export class WorkerProcess {
  private constructor(
    /** Resolves when the process is gone, whoever ended it. */
    readonly ended: Promise<void>,
    private readonly end: () => void,
    readonly pid: number | undefined,
    private readonly output: string[],
  ) {}

  static start(
    stack: TestStack,
    roles: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
    options: readonly string[] = [],
  ): WorkerProcess {
    const places = ['--data-dir', stack.folder, '--store', join(stack.folder, 'store')];
    const program = resolve(__dirname, '../../../bin/everstep.js');
    const only = roles.length > 0 ? ['--roles', roles.join(',')] : [];
    const engine = ['--engine', stack.engine.url];
    const child = spawn(process.execPath, [program, 'worker', ...engine, ...places, ...only, ...options], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        EVERSTEP_PLUGIN_FOLDERS: stack.folder,
        ...environment,
        EVERSTEP_NO_BUILD: '1',
        TEMPORAL_ADDRESS: stack.address,
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
    const output: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
    const ended = new Promise<void>((done) => {
      child.once('exit', () => {
        done();
      });
    });
    return new WorkerProcess(ended, () => child.kill('SIGKILL'), child.pid, output);
  }

  /** Everything that it wrote to its output and its log. */
  said(): string {
    return this.output.join('');
  }

  /** SIGKILL: nothing is closed, written or said. */
  async kill(): Promise<void> {
    this.end();
    await this.ended;
  }
}

/** A worker that is started again whenever it dies, as a service manager does. */
export class KeptWorker {
  private isKept = true;
  private saidBefore = '';
  private worker: WorkerProcess;
  private readonly over: Promise<void>;

  constructor(start: () => WorkerProcess) {
    this.worker = start();
    this.over = this.keep(start);
  }

  /** Of all processes so far. */
  said(): string {
    return this.saidBefore + this.worker.said();
  }

  async stop(): Promise<void> {
    this.isKept = false;
    await this.worker.kill();
    await this.over;
  }

  private async keep(start: () => WorkerProcess): Promise<void> {
    for (;;) {
      await this.worker.ended;
      if (!this.isKept) return;
      this.saidBefore += this.worker.said();
      this.worker = start();
    }
  }
}
