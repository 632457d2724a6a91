import type { AdamParams, Datum, ForwardBackwardResult } from '../../../../../src/core/datum';
import { DomainError } from '../../../../../src/core/errors';
import type { SampleRequest, SampleResult } from '../../../../../src/core/sampling';
import type {
  LoraConfig,
  ModelRuntime,
  ModelState,
  NamedTensor,
  SamplerModel,
  TrainableModel,
} from '../../../../../src/engines/local/model-runtime';

const VOCAB_SIZE = 16;
export const BASE_MODEL = 'fake/unigram';

/** Work waits while the gate is shut, so that a test decides what is finished when. */
class Gate {
  private opened: Promise<void> = Promise.resolve();
  private release: () => void = () => undefined;

  shut(): void {
    this.opened = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  open(): void {
    this.release();
  }

  pass(): Promise<void> {
    return this.opened;
  }
}

/** Log-probs of one table of logits: the smallest model that learns. */
class UnigramModel implements TrainableModel {
  private logits = new Float32Array(VOCAB_SIZE);
  private gradient = new Float32Array(VOCAB_SIZE);
  private step = 0;

  constructor(
    private readonly runtime: FakeRuntime,
    readonly index: number,
  ) {}

  async forwardBackward(
    data: readonly Datum[],
    _loss: unknown,
    options: { readonly backward: boolean },
  ): Promise<ForwardBackwardResult> {
    this.runtime.calls.push(
      `${this.index}:${options.backward ? 'backward' : 'forward'}:${data[0]?.targetTokens[0]}`,
    );
    await this.runtime.trainingGate.pass();
    const probabilities = softmax(this.logits);
    let loss = 0;
    const logprobs = data.map(({ targetTokens }) =>
      Float32Array.from(targetTokens, (token) => {
        if (token >= VOCAB_SIZE) {
          throw new DomainError('request-failed', `token ${token} is not in the vocabulary`, {
            category: 'user',
          });
        }
        return Math.log(probabilities[token] ?? 0);
      }),
    );
    for (const [index, datum] of data.entries()) {
      loss -= (logprobs[index] ?? new Float32Array()).reduce((sum, value) => sum + value, 0);
      if (options.backward) this.accumulate(datum, probabilities);
    }
    return { logprobs, metrics: { 'loss:sum': loss } };
  }

  async optimStep(adam: AdamParams): Promise<Record<string, number>> {
    this.runtime.calls.push(`${this.index}:step`);
    await this.runtime.trainingGate.pass();
    for (let token = 0; token < VOCAB_SIZE; token++) {
      this.logits[token] = (this.logits[token] ?? 0) - adam.learningRate * (this.gradient[token] ?? 0);
    }
    this.gradient.fill(0);
    this.step++;
    return { grad_norm: 1 };
  }

  async exportState(options: { readonly optimizer: boolean }): Promise<ModelState> {
    const moment = [{ name: 'logits', shape: [VOCAB_SIZE], data: this.gradient.slice() }];
    return {
      weights: [{ name: 'logits', shape: [VOCAB_SIZE], data: this.logits.slice() }],
      optimizer: options.optimizer ? { step: this.step, firstMoment: moment, secondMoment: moment } : null,
    };
  }

  async importState(state: ModelState): Promise<void> {
    this.logits = state.weights[0]?.data.slice() ?? this.logits;
    this.step = state.optimizer?.step ?? 0;
    this.runtime.calls.push(`${this.index}:import:${this.step}`);
  }

  dispose(): void {
    this.runtime.calls.push(`${this.index}:dispose`);
  }

  private accumulate(datum: Datum, probabilities: Float32Array): void {
    for (const target of datum.targetTokens) {
      for (let token = 0; token < VOCAB_SIZE; token++) {
        const wanted = token === target ? 1 : 0;
        this.gradient[token] = (this.gradient[token] ?? 0) + (probabilities[token] ?? 0) - wanted;
      }
    }
  }
}

class UnigramSampler implements SamplerModel {
  constructor(
    private readonly runtime: FakeRuntime,
    private readonly logits: Float32Array,
  ) {}

  async sample(request: SampleRequest, options?: { readonly signal?: AbortSignal }): Promise<SampleResult> {
    this.runtime.calls.push('sample');
    await Promise.race([this.runtime.samplingGate.pass(), aborted(options?.signal)]);
    const best = this.logits.indexOf(Math.max(...this.logits));
    const tokens = Array.from({ length: request.params.maxTokens }, () => best);
    const sequence = { tokens, logprobs: tokens.map(() => -1), stopReason: 'length' as const };
    return {
      sequences: Array.from({ length: request.numSamples }, () => sequence),
      promptLogprobs: request.promptLogprobs
        ? request.prompt.map((_, index) => (index === 0 ? null : -2))
        : null,
    };
  }

  dispose(): void {
    this.runtime.calls.push('dispose sampler');
  }
}

export class FakeRuntime implements ModelRuntime {
  readonly baseModels = [
    { name: BASE_MODEL, folder: '/models/unigram', contextLength: 64, vocabSize: VOCAB_SIZE },
  ];
  readonly calls: string[] = [];
  readonly trainingGate = new Gate();
  readonly samplingGate = new Gate();
  samplerCount = 0;
  private modelCount = 0;

  async createModel(options: {
    readonly baseModel: string;
    readonly lora: LoraConfig | null;
  }): Promise<TrainableModel> {
    if (options.lora?.rank === 13) throw new Error('out of luck');
    return new UnigramModel(this, this.modelCount++);
  }

  async createSampler(options: { readonly weights: readonly NamedTensor[] | null }): Promise<SamplerModel> {
    this.samplerCount++;
    return new UnigramSampler(this, options.weights?.[0]?.data ?? new Float32Array(VOCAB_SIZE));
  }

  async close(): Promise<void> {
    this.trainingGate.open();
    this.samplingGate.open();
  }
}

function softmax(logits: Float32Array): Float32Array {
  const exponentials = logits.map(Math.exp);
  const sum = exponentials.reduce((total, value) => total + value, 0);
  return exponentials.map((value) => value / sum);
}

function aborted(signal?: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => {
      reject(new Error('aborted'));
    });
  });
}
