import { TestStack } from './stack';
import { KeptWorker, WorkerProcess } from './worker-process';

/** A stack whose sampling worker is a process that is started again whenever it dies: what shares it with a plug-in that kills dies with it. */
export class DyingStack {
  private constructor(
    readonly stack: TestStack,
    readonly sampling: KeptWorker,
    private readonly steady: WorkerProcess,
  ) {}

  static async start(): Promise<DyingStack> {
    const stack = await TestStack.start();
    const steady = WorkerProcess.start(stack, ['workflows', 'training']);
    const sampling = new KeptWorker(() =>
      WorkerProcess.start(stack, ['sampling'], {}, ['--stuck-after', '6']),
    );
    return new DyingStack(stack, sampling, steady);
  }

  async stop(): Promise<void> {
    await Promise.all([this.steady.kill(), this.sampling.stop()]);
    await this.stack.stop();
  }
}
