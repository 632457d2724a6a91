import type { Sampler } from '../../core/sampling';
import type { PolicySnapshot } from '../../core/training-plan';
import type { TinkerClient } from '../../engines/tinker/client';
import type { TinkerSampler } from '../../engines/tinker/sampler';
import { samplerInTurns } from '../../evaluation/turns';
import type { AwaitedPolicy } from '../policy-note';
import { awaitPolicyNote } from '../policy-note';
import type { LinkedAbort } from '../rollouts/linked-abort';
import { linkedAbort } from '../rollouts/linked-abort';

/** The weights to sample from, or those that are waited for. */
interface PolicyChoice {
  readonly policy: PolicySnapshot | null;
  readonly awaited?: AwaitedPolicy;
}

interface Place {
  readonly runFolder: string;
  readonly signal: AbortSignal;
}

interface Arrived {
  readonly own: TinkerSampler;
  readonly inTurns: Sampler;
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
  private readonly arrival: Promise<Arrived>;

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
    const { inTurns } = await this.arrival;
    return inTurns.sample(request, options);
  }

  async close(): Promise<void> {
    this.callOff.abort(new Error('Sampling is over.'));
    this.callOff.release();
    const arrived = await this.arrival.catch(() => null);
    await arrived?.own.close();
  }

  private async arrive({ policy, awaited }: PolicyChoice): Promise<Arrived> {
    try {
      const { samplerPath } = policy ?? (await this.wait(awaited));
      this.arrivedAt = performance.now();
      const own = this.client.createSampler({ modelPath: samplerPath });
      return { own, inTurns: samplerInTurns(own) };
    } catch (error) {
      // No rollout is at fault, so none may fail of it.
      this.callOff.abort(error);
      throw error;
    }
  }

  private async wait(awaited: AwaitedPolicy | undefined): Promise<PolicySnapshot> {
    const { runFolder } = this.place;
    const patience = { signal: this.callOff.signal, patienceMs: PATIENCE_MS };
    const note = awaited ? await awaitPolicyNote(runFolder, awaited, patience) : null;
    if (note !== null) return note;
    this.isInVain = true;
    throw new Error('The weights to sample from did not come.');
  }
}
