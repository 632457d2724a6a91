import { sleep } from './service';
import type { Site } from './site';

const LOOK_EVERY_MS = 50;

/** Tokens that the engine drew over all its lives, whose counters begin anew: the most that each of them ever said. */
export class TokenCount {
  private ended = 0;
  private latest = 0;
  private isStopped = false;
  private readonly counting: Promise<void>;

  private constructor(private readonly site: Site) {
    this.counting = this.count();
  }

  static of(site: Site): TokenCount {
    return new TokenCount(site);
  }

  async stop(): Promise<number> {
    this.isStopped = true;
    await this.counting;
    await this.look();
    return this.ended + this.latest;
  }

  private async count(): Promise<void> {
    while (!this.isStopped) {
      await this.look();
      await sleep(LOOK_EVERY_MS);
    }
  }

  private async look(): Promise<void> {
    const text = await fetch(`${this.site.engineUrl}/metrics`, { signal: AbortSignal.timeout(1000) })
      .then((response) => response.text())
      .catch(() => '');
    const found = /everstep_engine_tokens_sampled_total (\d+)/.exec(text)?.[1];
    if (found === undefined) return;
    if (Number(found) < this.latest) this.ended += this.latest;
    this.latest = Number(found);
  }
}
