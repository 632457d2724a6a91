/**
 * From kill -9 of the worker that trains to the next row in metrics.jsonl.
 *
 *     npm run bench:recovery -- [--repeats 10] [--restart-ms 500]
 *
 * The engine is the real one with fast steps. Three cases: the only worker dies and another is started a moment later;
 * it dies while it works on tasks of the workflow; it dies while a second worker lives. Kills fall at moments drawn from
 * a fixed seed.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { WorkflowHandle } from '@temporalio/client';
import { createRandom } from '../src/core/random';
import type { RunStore } from '../src/stores/run-store';
import { createRunStore } from '../src/stores/run-store';
import type { BenchClient } from './bench-client';
import { connectTo, tinyConfig } from './bench-client';
import { timeoutsSince } from './run-history';
import { BenchServices } from './services';
import { median } from './work-items';

const RUN = 'hunted';
const POLL_MS = 10;
/** A segment lasts about four seconds: kills fall anywhere in it. */
const SEGMENT_MS = 4000;
const SETTLE_STEPS = 20;
const LIMIT_MS = 60_000;
/** Signals nobody listens to: each makes the server give the workflow's worker a task. */
const NUDGE_MS = 400;

interface Recovery {
  readonly seconds: number;
  /** What the server gave up waiting for between the kill and the next row. */
  readonly timeouts: readonly string[];
}

class Hunt {
  private readonly store: RunStore;
  private readonly random = createRandom(20_261_121);

  constructor(
    private readonly services: BenchServices,
    private readonly workflow: WorkflowHandle,
    private readonly restartMs: number,
  ) {
    this.store = createRunStore(services.store);
  }

  /** The only worker dies; a new one is started soon after. */
  async killOnly(): Promise<Recovery> {
    await this.settle();
    return this.recovery(await this.kill(), () => this.restart());
  }

  /** As before, in the middle of a task of the workflow. */
  async killInTask(): Promise<Recovery> {
    await this.settle();
    const until = performance.now() + NUDGE_MS;
    const nudges: Promise<void>[] = [];
    while (performance.now() < until) {
      nudges.push(this.workflow.signal('nudge'));
      await delay(1);
    }
    const killed = await this.kill();
    await Promise.all(nudges);
    return this.recovery(killed, () => this.restart());
  }

  /** One of two dies, the one that trains. */
  async killOneOfTwo(): Promise<Recovery> {
    while (this.alive().length < 2) await this.services.startWorker();
    await this.settle();
    return this.recovery(await this.kill(), async () => undefined);
  }

  private async settle(): Promise<void> {
    await this.untilStep((await this.lastStep()) + SETTLE_STEPS);
    await delay(this.random() * SEGMENT_MS);
  }

  private async kill(): Promise<{ readonly at: number; readonly date: Date }> {
    const worker = await this.trainingWorker();
    const exited = once(worker, 'exit');
    const killed = { at: performance.now(), date: new Date() };
    worker.kill('SIGKILL');
    await exited;
    return killed;
  }

  private async recovery(
    { at, date }: { readonly at: number; readonly date: Date },
    help: () => Promise<unknown>,
  ): Promise<Recovery> {
    const step = await this.lastStep();
    const [, seconds] = await Promise.all([
      help(),
      this.untilStep(step + 1).then(() => (performance.now() - at) / 1000),
    ]);
    return { seconds, timeouts: await timeoutsSince(this.workflow, date) };
  }

  private async restart(): Promise<void> {
    await delay(this.restartMs);
    await this.services.startWorker();
  }

  private alive(): ChildProcess[] {
    return this.services.workers.filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    );
  }

  /** Between two segments nobody has one: then the server says so, and we ask again. */
  private async trainingWorker(): Promise<ChildProcess> {
    const alive = this.alive();
    const [only] = alive;
    if (only && alive.length === 1) return only;
    for (;;) {
      const { raw } = await this.workflow.describe();
      const segment = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'runSegment');
      const worker = alive.find(({ pid }) => segment?.lastWorkerIdentity?.startsWith(`${pid}@`));
      if (worker) return worker;
      await delay(POLL_MS);
    }
  }

  private async untilStep(step: number): Promise<void> {
    const deadline = performance.now() + LIMIT_MS;
    while ((await this.lastStep()) < step) {
      if (performance.now() > deadline) throw new Error(`No row of step ${step} in a minute.`);
      await delay(POLL_MS);
    }
  }

  private async lastStep(): Promise<number> {
    return (await this.store.readLastMetrics(RUN))?.step ?? 0;
  }
}

async function print(name: string, repeats: number, recover: () => Promise<Recovery>): Promise<void> {
  const recoveries: Recovery[] = [];
  for (let index = 0; index < repeats; index++) recoveries.push(await recover());
  const seconds = recoveries.map((recovery) => recovery.seconds);
  const timeouts = recoveries.flatMap((recovery) => recovery.timeouts);
  console.log(
    [
      `${name}: min ${Math.min(...seconds).toFixed(2)}, median ${median(seconds).toFixed(2)}, max ${Math.max(...seconds).toFixed(2)} s`,
      `each: ${seconds.map((one) => one.toFixed(2)).join(', ')}`,
      `timed out: ${timeouts.length === 0 ? 'nothing' : timeouts.join(', ')}`,
    ].join('\n  '),
  );
}

async function measure(services: BenchServices, { everstep, temporal }: BenchClient): Promise<void> {
  const { values } = parseArgs({
    options: {
      repeats: { type: 'string', default: '10' },
      'restart-ms': { type: 'string', default: '500' },
    },
  });
  const handle = await everstep.train(tinyConfig({ steps: 1_000_000, evalEvery: 0 }), { run: RUN });
  const workflow = temporal.workflow.getHandle(handle.workflowId);
  const hunt = new Hunt(services, workflow, Number(values['restart-ms']));
  const repeats = Number(values.repeats);
  await print('the only worker', repeats, () => hunt.killOnly());
  await print('the only worker, in a task of the workflow', repeats, () => hunt.killInTask());
  await print('one of two workers', repeats, () => hunt.killOneOfTwo());
  await workflow.cancel();
}

async function main(): Promise<void> {
  const services = await BenchServices.start('real');
  try {
    const client = await connectTo(services);
    await measure(services, client);
    await client.close();
  } finally {
    await services.stop();
  }
}

void main();
