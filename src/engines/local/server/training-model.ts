import type { BaseModelInfo, LoraConfig, TrainableModel } from '../model-runtime';
import type { UserMetadata } from './metadata-budget';
import { AcceptedRequests } from './accepted-requests';
import { OrderedQueue } from './ordered-queue';
import { PendingWork } from './pending-work';

export interface TrainingModelOrigin {
  readonly id: string;
  readonly sessionId: string;
  readonly base: BaseModelInfo;
  readonly lora: LoraConfig | null;
  /** null once the model has ended. */
  userMetadata: UserMetadata;
  /** What the creating request asked for, to recognise a resend of it. */
  readonly digest: string;
}

/** One model in memory with the queue of what is to be done to it. */
export class TrainingModel {
  readonly queue: OrderedQueue;
  readonly accepted = new AcceptedRequests();
  readonly pending = new PendingWork();
  lastRequestAt = new Date().toISOString();
  endedBecause: string | null = null;
  private trainable: TrainableModel | null = null;

  constructor(
    readonly origin: TrainingModelOrigin,
    isOrdered: boolean,
  ) {
    this.queue = new OrderedQueue(isOrdered);
  }

  get id(): string {
    return this.origin.id;
  }

  /** Goes ahead of everything that needs the model. */
  async start(create: () => Promise<TrainableModel>): Promise<void> {
    await this.queue.enqueue(async () => {
      try {
        this.trainable = await create();
      } catch (error) {
        this.end('it could not be created');
        throw error;
      }
    });
  }

  /** Only for work in the queue, which runs after the model's creation and before its end. */
  weights(): TrainableModel {
    if (!this.trainable) throw new Error(`Model ${this.id} is not in memory.`);
    return this.trainable;
  }

  /** No more requests; what can already run still does, then the memory is given back. */
  async unload(reason: string): Promise<void> {
    this.end(reason);
    await this.queue.enqueue(async () => {
      this.trainable?.dispose();
      this.trainable = null;
      this.accepted.clear();
    });
  }

  private end(reason: string): void {
    this.endedBecause ??= reason;
    this.queue.close(`model ${this.id} was unloaded because ${reason}`);
  }
}
