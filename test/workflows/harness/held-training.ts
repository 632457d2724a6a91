import { createModelRuntime } from '../../../src/engines/local/compute/create-model-runtime';
import type { ModelRuntime, SamplerModel, TrainableModel } from '../../../src/engines/local/model-runtime';
import { until } from './runs';

/** Updates, or draws, that wait from one of them on, until they are let go. */
export class Hold {
  private opening: Promise<void> = Promise.resolve();
  private open: () => void = () => undefined;
  private countdown = Infinity;
  private readonly waiting = new Set<symbol>();

  /** The one after so many from now, and those behind it. */
  holdAfter(count: number): void {
    this.countdown = count;
    this.opening = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  letGo(): void {
    this.countdown = Infinity;
    this.waiting.clear();
    this.open();
  }

  /** Lets go, and holds again after so many more than those that wait. */
  goOn(count: number): void {
    this.letGo();
    this.holdAfter(count);
  }

  get isHolding(): boolean {
    return this.waiting.size > 0;
  }

  /** Resolves once one waits. */
  async held(): Promise<void> {
    await until(() => (this.isHolding ? true : null));
  }

  /** Throws where it is called off while it waits. */
  async pass(signal?: AbortSignal): Promise<void> {
    this.countdown -= 1;
    if (this.countdown >= 0) return;
    const own = Symbol();
    this.waiting.add(own);
    try {
      await Promise.race([this.opening, ...(signal ? [abortOf(signal)] : [])]);
    } finally {
      this.waiting.delete(own);
    }
    signal?.throwIfAborted();
  }
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}

/** Every model, or everything weights are drawn from, that was made since they were asked for: each has its own hold. */
export class Holds {
  private readonly all: Hold[] = [];

  constructor(private count: number) {}

  /** For one that is made now. */
  add(): Hold {
    const hold = new Hold();
    hold.holdAfter(this.count);
    this.all.push(hold);
    return hold;
  }

  /** Resolves once so many of them wait. */
  async held(holdCount: number): Promise<void> {
    await until(() => (this.all.filter(({ isHolding }) => isHolding).length >= holdCount ? true : null));
  }

  /** Those that are made from now on wait for nothing either. */
  letGo(): void {
    this.count = Infinity;
    for (const hold of this.all) hold.letGo();
  }

  goOn(count: number): void {
    for (const hold of this.all) hold.goOn(count);
  }
}

/**
 * The engine's own arithmetic, whose updates wait while they are held: a step that lasts as long as a story needs.
 * What it is told itself holds every model; `holdNext` holds one.
 */
export class HeldTraining extends Hold implements ModelRuntime {
  private readonly next: Hold[] = [];
  private readonly handed: Hold[] = [];
  private readonly models: Holds[] = [];
  private readonly samplers: Holds[] = [];
  /** That models were asked to train on. */
  tokenCount = 0;
  /** Of prompts, and what was drawn for them. */
  readonly drawn = { prompt: 0, sampled: 0 };

  private constructor(private readonly own: ModelRuntime) {
    super();
  }

  static async create(): Promise<HeldTraining> {
    return new HeldTraining(await createModelRuntime({ threads: 1 }));
  }

  get baseModels(): ModelRuntime['baseModels'] {
    return this.own.baseModels;
  }

  /** Holds the model that is made next, and no other, at the update after so many of its own. */
  holdNext(updates: number): Hold {
    const hold = new Hold();
    hold.holdAfter(updates);
    this.next.push(hold);
    return hold;
  }

  /** Holds each model that is made from now on at the update after so many of its own. */
  holdEach(updates: number): Holds {
    const holds = new Holds(updates);
    this.models.push(holds);
    return holds;
  }

  /** Holds what is drawn after so many draws, of each snapshot that is brought to memory from now on. */
  holdDraws(draws: number): Holds {
    const holds = new Holds(draws);
    this.samplers.push(holds);
    return holds;
  }

  /** Whatever is held, so that an engine that ends waits for nothing. */
  letAllGo(): void {
    const holds = [...this.models.splice(0), ...this.samplers.splice(0)];
    for (const hold of [this, ...this.next.splice(0), ...this.handed, ...holds]) hold.letGo();
  }

  async createModel(options: Parameters<ModelRuntime['createModel']>[0]): Promise<TrainableModel> {
    const hold = this.next.shift();
    if (hold) this.handed.push(hold);
    const holds = this.models.map((each) => each.add());
    const model = await this.own.createModel(options);
    return {
      forwardBackward: (...given) => {
        this.tokenCount += given[0].reduce((sum, { tokens }) => sum + tokens.length, 0);
        return model.forwardBackward(...given);
      },
      optimStep: async (adam) => {
        await this.pass();
        await hold?.pass();
        for (const each of holds) await each.pass();
        return model.optimStep(adam);
      },
      exportState: (given) => model.exportState(given),
      importState: (state) => model.importState(state),
      dispose: () => {
        model.dispose();
      },
    };
  }

  async createSampler(options: Parameters<ModelRuntime['createSampler']>[0]): Promise<SamplerModel> {
    const holds = this.samplers.map((each) => each.add());
    const sampler = await this.own.createSampler(options);
    return {
      sample: async (request, given) => {
        this.drawn.prompt += request.prompt.length;
        for (const each of holds) await each.pass(given?.signal);
        const result = await sampler.sample(request, given);
        this.drawn.sampled += result.sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
        return result;
      },
      dispose: () => {
        sampler.dispose();
      },
    };
  }

  close(): Promise<void> {
    return this.own.close();
  }
}
