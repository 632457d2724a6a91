import { TestStack } from './stack';
import { KeptWorker, WorkerProcess } from './worker-process';

/** A stack whose sampling worker is a process that is started again whenever it dies: what shares it with a plug-in that kills dies with it. */
export class DyingStack {
  private training: KeptWorker | null = null;

  private constructor(
    readonly stack: TestStack,
    readonly sampling: KeptWorker,
    private steady: WorkerProcess,
  ) {}

  static async start(): Promise<DyingStack> {
    const stack = await TestStack.start();
    const steady = WorkerProcess.start(stack, ['workflows', 'training']);
    return new DyingStack(stack, keptWorker(stack, 'sampling'), steady);
  }

  /** From then on what trains is a process of its own, which is started again too. */
  async separateTraining(): Promise<KeptWorker> {
    await this.steady.kill();
    this.steady = WorkerProcess.start(this.stack, ['workflows']);
    this.training = keptWorker(this.stack, 'training');
    return this.training;
  }

  async stop(): Promise<void> {
    await Promise.all([this.steady.kill(), this.sampling.stop(), this.training?.stop()]);
    await this.stack.stop();
  }
}

function keptWorker(stack: TestStack, role: string): KeptWorker {
  return new KeptWorker(() => WorkerProcess.start(stack, [role], {}, ['--stuck-after', '6']));
}
