import type { LoraConfig, ModelRuntime, NamedTensor, SamplerModel } from '../model-runtime';

/** Fixed weights that can be brought to memory again at any time. */
export interface SamplerSource {
  /** Equal for equal weights. */
  readonly key: string;
  readonly baseModel: string;
  readonly lora: LoraConfig | null;
  /** null stands for the base model itself. */
  readonly load: () => Promise<readonly NamedTensor[] | null>;
}

interface CacheEntry {
  readonly sampler: Promise<SamplerModel>;
  userCount: number;
  idleSince: number;
}

const MAX_IDLE = 4;
const MAX_IDLE_MS = 60_000;

/** One sampler in memory for all who draw from the same weights; idle ones are given back. */
export class SamplerCache {
  private readonly entries = new Map<string, CacheEntry>();

  constructor(private readonly runtime: ModelRuntime) {}

  async use<T>(source: SamplerSource, work: (sampler: SamplerModel) => Promise<T>): Promise<T> {
    const entry = this.entries.get(source.key) ?? this.add(source);
    entry.userCount++;
    try {
      return await work(await entry.sampler);
    } finally {
      entry.userCount--;
      entry.idleSince = performance.now();
      this.disposeIdle(entry.idleSince);
    }
  }

  disposeIdle(now: number): void {
    const idle = [...this.entries]
      .filter(([, entry]) => entry.userCount === 0)
      .sort(([, one], [, other]) => one.idleSince - other.idleSince);
    idle.forEach(([key, entry], index) => {
      const isSpare = index < idle.length - MAX_IDLE;
      if (isSpare || now - entry.idleSince > MAX_IDLE_MS) this.remove(key, entry);
    });
  }

  disposeAll(): void {
    for (const [key, entry] of this.entries) this.remove(key, entry);
  }

  private add(source: SamplerSource): CacheEntry {
    const entry: CacheEntry = { sampler: this.create(source), userCount: 0, idleSince: 0 };
    this.entries.set(source.key, entry);
    entry.sampler.catch(() => {
      this.entries.delete(source.key);
    });
    return entry;
  }

  private async create(source: SamplerSource): Promise<SamplerModel> {
    const weights = await source.load();
    return this.runtime.createSampler({ baseModel: source.baseModel, lora: source.lora, weights });
  }

  private remove(key: string, entry: CacheEntry): void {
    this.entries.delete(key);
    void entry.sampler.then(
      (sampler) => {
        sampler.dispose();
      },
      () => null,
    );
  }
}
