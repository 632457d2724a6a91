import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { TestStack } from './stack';

interface PlayedCall {
  readonly turn: number;
  readonly problem?: number;
  readonly message?: { readonly content: string };
}

/**
 * Meets the contract of examples/python-worker, without Python: one environment, `digits`, of one turn, right when the reply has
 * an even digit.
 */
export class PythonStandIn {
  private constructor(
    private readonly workers: readonly Worker[],
    private readonly connection: NativeConnection,
    private readonly ended: readonly Promise<void>[],
  ) {}

  static async start(stack: TestStack): Promise<PythonStandIn> {
    const connection = await NativeConnection.connect({ address: stack.address });
    const { namespace } = stack;
    const queue = `own-${Math.random()}`;
    const activities = activitiesOf(queue);
    const workers = await Promise.all(
      ['everstep-python', queue].map((taskQueue) =>
        Worker.create({ connection, namespace, taskQueue, activities }),
      ),
    );
    return new PythonStandIn(
      workers,
      connection,
      workers.map((worker) => worker.run()),
    );
  }

  async stop(): Promise<void> {
    for (const worker of this.workers) worker.shutdown();
    await Promise.all(this.ended);
    await this.connection.close();
  }
}

function activitiesOf(queue: string) {
  return {
    async readProblems({ environment, path }: { environment: string; path: string }) {
      requireKnown(environment);
      mkdirSync(dirname(path), { recursive: true });
      const rows = Array.from({ length: 10 }, (_, digit) => JSON.stringify({ problem: digit }));
      writeFileSync(path, `${rows.join('\n')}\n`);
      return Promise.resolve({ path, rowCount: rows.length });
    },
    async playEnvironments({ calls }: { calls: readonly PlayedCall[] }) {
      heartbeat();
      return Promise.resolve({ queue, answers: calls.map((call) => ({ value: answerTo(call) })) });
    },
  };
}

function requireKnown(environment: string): void {
  if (environment === 'digits') return;
  const message = `The Python worker has no environment "${environment}". It has: digits.`;
  throw ApplicationFailure.nonRetryable(message, 'unknown-python-name');
}

function answerTo({ turn, problem, message }: PlayedCall): object | boolean {
  if (turn < 0) return true;
  if (turn === 0)
    return { messages: [{ role: 'user', content: `${String(problem)}=` }], judgesCutReplies: true };
  const correct = Number(/[02468]/.test(message?.content ?? ''));
  return { reward: correct, isDone: true, nextMessages: [], metrics: { correct } };
}
