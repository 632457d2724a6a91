import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { TestStack } from './stack';

/** The production worker in a process of its own, to be killed as a machine kills it. */
export class WorkerProcess {
  private constructor(
    private readonly ended: Promise<void>,
    private readonly end: () => void,
  ) {}

  static start(stack: TestStack, roles: readonly string[] = []): WorkerProcess {
    const places = ['--data-dir', stack.folder, '--store', join(stack.folder, 'store')];
    const program = resolve(__dirname, '../../../bin/everstep.js');
    const only = roles.length > 0 ? ['--roles', roles.join(',')] : [];
    const engine = ['--engine', stack.engine.url];
    const child = spawn(process.execPath, [program, 'worker', ...engine, ...places, ...only], {
      stdio: 'ignore',
      env: {
        ...process.env,
        EVERSTEP_NO_BUILD: '1',
        TEMPORAL_ADDRESS: stack.address,
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
    const ended = new Promise<void>((done) => {
      child.once('exit', () => {
        done();
      });
    });
    return new WorkerProcess(ended, () => child.kill('SIGKILL'));
  }

  /** SIGKILL: nothing is closed, written or said. */
  async kill(): Promise<void> {
    this.end();
    await this.ended;
  }
}
