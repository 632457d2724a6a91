import type { Datum } from '../../src/core/datum';
import { createModelRuntime } from '../../src/engines/local/compute/create-model-runtime';
import type { ModelRuntime, SamplerModel, TrainableModel } from '../../src/engines/local/model-runtime';
import type { BenchModel } from './bench-model';
import { ADAM } from './contenders';
import type { Contender, Timing, TrainingBatch } from './contenders';

interface Loaded {
  readonly runtime: ModelRuntime;
  readonly model: TrainableModel;
  readonly sampler: SamplerModel;
}

/** The local engine below its protocol server, fine-tuning all weights. */
export class OwnEngine implements Contender {
  private loaded: Loaded | null = null;
  private batch: Datum[] = [];
  private seed = 0;

  constructor(private readonly threads: number) {}

  async load(benchModel: BenchModel): Promise<void> {
    await this.close();
    const runtime = await createModelRuntime({ modelsFolders: [benchModel.root], threads: this.threads });
    const model = await runtime.createModel({ baseModel: benchModel.name, lora: null });
    const sampler = await runtime.createSampler({ baseModel: benchModel.name, lora: null, weights: null });
    this.loaded = { runtime, model, sampler };
  }

  async setBatch({ tokens, targets, weight }: TrainingBatch): Promise<void> {
    this.batch = tokens.map((sequence, index) => ({
      tokens: Int32Array.from(sequence),
      targetTokens: Int32Array.from(targets[index] ?? []),
      lossInputs: { weights: new Float32Array(sequence.length).fill(weight) },
    }));
  }

  async loss(): Promise<number> {
    const { metrics } = await this.forwardBackward({ backward: false });
    return metrics['loss:sum'] ?? NaN;
  }

  async train(steps: number): Promise<Timing> {
    const { model } = this.parts();
    return timed(async () => {
      for (let step = 0; step < steps; step++) {
        const passed = this.forwardBackward({ backward: true });
        const stepped = model.optimStep({ ...ADAM, gradClipNorm: 0 });
        await Promise.all([passed, stepped]);
      }
    });
  }

  async sample(prompts: readonly (readonly number[])[], count: number): Promise<Timing> {
    const { sampler } = this.parts();
    return timed(async () => {
      await Promise.all(
        prompts.map(async (prompt) => {
          const params = {
            maxTokens: count,
            temperature: 1,
            topK: -1,
            topP: 1,
            seed: this.seed++,
            stop: [],
          };
          await sampler.sample({ prompt, numSamples: 1, params });
        }),
      );
    });
  }

  async close(): Promise<void> {
    await this.loaded?.runtime.close();
    this.loaded = null;
  }

  private async forwardBackward(options: {
    readonly backward: boolean;
  }): ReturnType<TrainableModel['forwardBackward']> {
    return this.parts().model.forwardBackward(this.batch, { name: 'cross_entropy', config: {} }, options);
  }

  private parts(): Loaded {
    if (this.loaded === null) throw new Error('No model is loaded.');
    return this.loaded;
  }
}

async function timed(run: () => Promise<void>): Promise<Timing> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run();
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (user + system) / 1000 };
}
