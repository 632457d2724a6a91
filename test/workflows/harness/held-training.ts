import { createModelRuntime } from '../../../src/engines/local/compute/create-model-runtime';
import type { ModelRuntime, SamplerModel, TrainableModel } from '../../../src/engines/local/model-runtime';
import { until } from './runs';

/** The engine's own arithmetic, whose updates wait while they are held: a step that lasts as long as a story needs. */
export class HeldTraining implements ModelRuntime {
  private opening: Promise<void> = Promise.resolve();
  private open: () => void = () => undefined;
  private countdown = Infinity;
  private heldCount = 0;

  private constructor(private readonly own: ModelRuntime) {}

  static async create(): Promise<HeldTraining> {
    return new HeldTraining(await createModelRuntime({ threads: 2 }));
  }

  get baseModels(): ModelRuntime['baseModels'] {
    return this.own.baseModels;
  }

  /** The update after so many from now, and those behind it. */
  holdAfter(updates: number): void {
    this.countdown = updates;
    this.opening = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  letGo(): void {
    this.countdown = Infinity;
    this.open();
  }

  /** Resolves once an update waits. */
  async held(): Promise<void> {
    await until(() => (this.heldCount > 0 ? true : null));
  }

  async createModel(options: Parameters<ModelRuntime['createModel']>[0]): Promise<TrainableModel> {
    const model = await this.own.createModel(options);
    return {
      forwardBackward: (...given) => model.forwardBackward(...given),
      optimStep: async (adam) => {
        await this.pass();
        return model.optimStep(adam);
      },
      exportState: (given) => model.exportState(given),
      importState: (state) => model.importState(state),
      dispose: () => {
        model.dispose();
      },
    };
  }

  createSampler(options: Parameters<ModelRuntime['createSampler']>[0]): Promise<SamplerModel> {
    return this.own.createSampler(options);
  }

  close(): Promise<void> {
    return this.own.close();
  }

  private async pass(): Promise<void> {
    this.countdown -= 1;
    if (this.countdown >= 0) return;
    this.heldCount += 1;
    await this.opening;
    this.heldCount -= 1;
  }
}
