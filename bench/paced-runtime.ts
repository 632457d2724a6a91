import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Datum, ForwardBackwardResult } from '../src/core/datum';
import type { SampleRequest, SampleResult } from '../src/core/sampling';
import type {
  ModelRuntime,
  ModelState,
  SamplerModel,
  TrainableModel,
} from '../src/engines/local/model-runtime';
import type { WorkItem } from './work-items';

export interface Pace {
  readonly forwardBackwardMs: number;
  readonly optimStepMs: number;
  /** Of a draw on average, from half to one and a half times as long by its seed; as many at once as are asked for. */
  readonly sampleMs?: number;
  /** Tokens of a draw; 12 unless told. */
  readonly drawnTokens?: number;
}

const DRAWN_TOKENS = 12;

/** A runtime that takes a given time for each request and computes nothing; it keeps the books of its own busy time. */
export class PacedRuntime implements ModelRuntime {
  readonly baseModels = [
    {
      name: 'everstep/tiny',
      folder: path.join(__dirname, '..', 'models', 'everstep-tiny'),
      contextLength: 32_768,
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

  async createSampler(): Promise<SamplerModel> {
    return {
      sample: async (request) => {
        const { seed = 0 } = request.params;
        const startMs = performance.now();
        await delay((this.pace.sampleMs ?? 0) * (0.5 + (seed % 100) / 100));
        this.items.push({ kind: 'sample', startMs, endMs: performance.now() });
        return drawnFor(request, this.pace.drawnTokens ?? DRAWN_TOKENS);
      },
      dispose: () => undefined,
    };
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

function drawnFor({ prompt, numSamples, params, promptLogprobs }: SampleRequest, most: number): SampleResult {
  const length = Math.min(params.maxTokens, most);
  const tokens = Array.from({ length }, (_, index) => prompt[index % prompt.length] ?? 0);
  const sequence = { tokens, logprobs: tokens.map(() => -1), stopReason: 'stop' as const };
  return {
    sequences: Array.from({ length: numSamples }, () => sequence),
    promptLogprobs: promptLogprobs === true ? prompt.map((_, index) => (index === 0 ? null : -1)) : null,
  };
}

function stateOf(withOptimizer: boolean): ModelState {
  const tensor = { name: 'paced', shape: [1], data: new Float32Array(1) };
  const moments = { step: 1, firstMoment: [tensor], secondMoment: [tensor] };
  return { weights: [tensor], optimizer: withOptimizer ? moments : null };
}
