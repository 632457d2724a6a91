import path from 'node:path';
import { DomainError } from '../src/core/errors';
import type { Datum, ForwardBackwardResult } from '../src/core/datum';
import type { ModelRuntime, ModelState, TrainableModel } from '../src/engines/local/model-runtime';
import type { WorkItem } from './work-items';

export interface Pace {
  readonly forwardBackwardMs: number;
  readonly optimStepMs: number;
}

/** A runtime that takes a given time for each request and computes nothing; it keeps the books of its own busy time. */
export class PacedRuntime implements ModelRuntime {
  readonly baseModels = [
    {
      name: 'everstep/tiny',
      folder: path.join(__dirname, '..', 'models', 'everstep-tiny'),
      contextLength: 256,
      vocabSize: 512,
    },
  ];
  pace: Pace = { forwardBackwardMs: 0, optimStepMs: 0 };
  private items: WorkItem[] = [];

  /** What was done since the last call. */
  take(): WorkItem[] {
    const taken = this.items;
    this.items = [];
    return taken;
  }

  async createModel(): Promise<TrainableModel> {
    return {
      forwardBackward: async (data) => {
        await this.work('forwardBackward', this.pace.forwardBackwardMs);
        return answerTo(data);
      },
      optimStep: async () => {
        await this.work('optimStep', this.pace.optimStepMs);
        return { grad_norm: 1 };
      },
      exportState: async ({ optimizer }) => stateOf(optimizer),
      importState: async () => undefined,
      dispose: () => undefined,
    };
  }

  async createSampler(): Promise<never> {
    throw new DomainError('request-failed', 'The paced engine of the benchmark draws no samples.');
  }

  async close(): Promise<void> {
    this.items = [];
  }

  private async work(kind: WorkItem['kind'], milliseconds: number): Promise<void> {
    const startMs = performance.now();
    // A timer may fire a little early, and its delay is rounded: ask again until the time has passed.
    for (let left = milliseconds; left > 0; left = startMs + milliseconds - performance.now()) {
      await new Promise((resolve) => setTimeout(resolve, left));
    }
    this.items.push({ kind, startMs, endMs: performance.now() });
  }
}

function answerTo(data: readonly Datum[]): ForwardBackwardResult {
  const logprobs = data.map(({ tokens }) => new Float32Array(tokens.length).fill(-1));
  return { logprobs, metrics: { 'loss:sum': logprobs.reduce((sum, { length }) => sum + length, 0) } };
}

function stateOf(withOptimizer: boolean): ModelState {
  const tensor = { name: 'paced', shape: [1], data: new Float32Array(1) };
  const moments = { step: 1, firstMoment: [tensor], secondMoment: [tensor] };
  return { weights: [tensor], optimizer: withOptimizer ? moments : null };
}
