import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { Everstep } from '../../../src/client/everstep';
import type { RunHandle } from '../../../src/client/run-handle';
import type { SupervisedConfig } from '../../../src/config/supervised-config';
import type { TrainSupervisedInput } from '../../../src/workflows/contracts';
import type { Hold } from './held-training';
import { HeldTraining } from './held-training';
import { reportOf, TestRuns } from './runs';
import { TestStack } from './stack';

interface HeldRun {
  readonly handle: WorkflowHandle;
  readonly run: RunHandle;
  readonly hold: Hold;
}

/** A stack with workers and a client, whose runs a story holds at a step. */
export class HeldRuns {
  private constructor(
    readonly stack: TestStack,
    readonly training: HeldTraining,
    readonly runs: TestRuns,
    readonly everstep: Everstep,
  ) {}

  static async start(): Promise<HeldRuns> {
    const training = await HeldTraining.create();
    const stack = await TestStack.start({ runtime: training });
    await stack.startWorkers();
    const { address, namespace, folder } = stack;
    const everstep = await Everstep.connect({ address, namespace, store: join(folder, 'store') });
    return new HeldRuns(stack, training, new TestRuns(stack), everstep);
  }

  async close(): Promise<void> {
    this.training.letAllGo();
    await this.everstep.close();
    await this.stack.stop();
    await this.training.close();
  }

  /** Starts a run that stands when so many steps are done. Of those it has collected all but the last; two more are sent at most. */
  async start(
    name: string,
    config: SupervisedConfig,
    { done, ...more }: Partial<TrainSupervisedInput> & { readonly done: number },
  ): Promise<HeldRun> {
    const hold = this.training.holdNext(done);
    const handle = await this.runs.start(name, config, more);
    await hold.held();
    return { handle, run: this.everstep.run(name), hold };
  }

  /** What a run comes to that is told everything while it is held, and disturbed by nothing else. */
  async foretold(
    name: string,
    config: SupervisedConfig,
    { done, tell }: { readonly done: number; readonly tell: (run: RunHandle) => Promise<unknown> },
  ): Promise<object> {
    const { handle, run, hold } = await this.start(name, config, { done });
    await tell(run);
    hold.letGo();
    await reportOf(handle);
    return this.runs.outcome(name);
  }

  /** The engine dies while a step is under way. */
  async restartEngine(hold: Hold): Promise<void> {
    await this.stack.restartEngine(() => {
      hold.letGo();
    });
  }
}
