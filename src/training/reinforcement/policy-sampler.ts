import type { Sampler } from '../../core/sampling';
import type { PolicySnapshot } from '../../core/training-plan';
import type { TinkerClient } from '../../engines/tinker/client';
import type { TinkerSampler } from '../../engines/tinker/sampler';
import { samplerInTurns } from '../../evaluation/turns';
import type { AwaitedPolicy } from '../policy-note';
import { awaitPolicyNote } from '../policy-note';
import type { StoreNews } from '../store-news';
import type { LinkedAbort } from '../../evaluation/linked-abort';
import { linkedAbort } from '../../evaluation/linked-abort';

/** The weights to sample from, or those that are waited for. */
interface PolicyChoice {
  readonly policy: PolicySnapshot | null;
  readonly awaited?: AwaitedPolicy;
  /** Where there is nobody else's place to hold, one waits. */
  readonly mayWait: boolean;
}

interface Place {
  readonly runFolder: string;
  readonly news: StoreNews;
  readonly signal: AbortSignal;
}

/** It holds a place of its worker. */
const PATIENCE_MS = 60_000;

/**
 * Samples from a policy that may be still to come: what is asked for before waits for it. Where it does not come, `signal`
 * fires and `isInVain` says why.
 */
export class PolicySampler implements Sampler {
  readonly step: number;
  isInVain = false;
  private arrivedAt: number | null = null;
  private readonly callOff: LinkedAbort;
  private readonly arrival: Promise<Sampler>;
  private session: Promise<string | undefined> | undefined;
  private own: TinkerSampler | null = null;

  constructor(
    private readonly client: TinkerClient,
    choice: PolicyChoice,
    private readonly place: Place,
  ) {
    const { policy, awaited } = choice;
    this.step = policy?.step ?? awaited?.step ?? -1;
    this.callOff = linkedAbort(place.signal);
    this.arrival = this.arrive(choice);
    // Whoever samples hears of it.
    this.arrival.catch(() => undefined);
  }

  /** Fires when sampling is called off, or in vain. */
  get signal(): AbortSignal {
    return this.callOff.signal;
  }

  /** Throws when the weights did not come. */
  async arrived(): Promise<void> {
    await this.arrival;
  }

  secondsSinceArrival(): number {
    return this.arrivedAt === null ? 0 : (performance.now() - this.arrivedAt) / 1000;
  }

  async sample(...[request, options]: Parameters<Sampler['sample']>): ReturnType<Sampler['sample']> {
    const inTurns = await this.arrival;
    return inTurns.sample(request, options);
  }

  async close(): Promise<void> {
    this.callOff.abort(new Error('Sampling is over.'));
    this.callOff.release();
    await this.arrival.catch(() => null);
    await (this.own?.close() ?? this.endSession());
  }

  private async arrive({ policy, awaited, mayWait }: PolicyChoice): Promise<Sampler> {
    try {
      if (policy === null && mayWait) this.session = this.prepareSession();
      const { samplerPath } = policy ?? (await this.wait(awaited, mayWait ? PATIENCE_MS : 0));
      this.arrivedAt = performance.now();
      const own = this.client.createSampler({ modelPath: samplerPath, sessionId: await this.session });
      this.own = own;
      // Before the rollouts take turns: the first is then drawn while the last are still to be asked for.
      await own.open();
      return samplerInTurns(own);
    } catch (error) {
      // No rollout is at fault, so none may fail of it.
      this.callOff.abort(error);
      throw error;
    }
  }

  /** While there is nothing else to do; what stands in its way is met again when it is needed. */
  private async prepareSession(): Promise<string | undefined> {
    const { signal } = this.callOff;
    return this.client.createSession({ tags: ['sampler'] }, { signal }).catch(() => undefined);
  }

  /** One that nothing was sampled in. Left open, it would end by itself. */
  private async endSession(): Promise<void> {
    const sessionId = await this.session;
    if (sessionId === undefined) return;
    await this.client.finishSession(sessionId, 'interrupted').catch(() => undefined);
  }

  private async wait(awaited: AwaitedPolicy | undefined, patienceMs: number): Promise<PolicySnapshot> {
    const { runFolder, news } = this.place;
    const patience = { news, signal: this.callOff.signal, patienceMs };
    const note = awaited ? await awaitPolicyNote(runFolder, awaited, patience) : null;
    if (note !== null) return note;
    this.isInVain = true;
    throw new Error('The weights to sample from did not come.');
  }
}
