import type { EngineConnection } from '../engine-access';

interface Kept {
  readonly opening: Promise<EngineConnection>;
  userCount: number;
  isForgotten: boolean;
}

const KEPT = 4;

/**
 * Connections to training services that stay open from one shard of a run to the next: opening hundreds of sockets for each
 * step takes longer than asking for its rollouts. One on which anything failed is not used again.
 */
export class KeptConnections {
  private readonly kept = new Map<string, Kept>();

  async use<Result>(
    run: string,
    connect: () => Promise<EngineConnection>,
    work: (connection: EngineConnection) => Promise<Result>,
  ): Promise<Result> {
    const kept = this.kept.get(run) ?? { opening: connect(), userCount: 0, isForgotten: false };
    this.kept.delete(run);
    this.kept.set(run, kept);
    kept.userCount += 1;
    try {
      return await work(await kept.opening);
    } catch (error) {
      this.forget(run, kept);
      throw error;
    } finally {
      kept.userCount -= 1;
      this.makeRoom();
      await closeUnused(kept);
    }
  }

  /** The one unused for longest goes first. */
  private makeRoom(): void {
    if (this.kept.size <= KEPT) return;
    const unused = [...this.kept].find(([, { userCount }]) => userCount === 0);
    if (!unused) return;
    this.forget(...unused);
    void closeUnused(unused[1]);
  }

  private forget(run: string, kept: Kept): void {
    kept.isForgotten = true;
    if (this.kept.get(run) === kept) this.kept.delete(run);
  }
}

async function closeUnused({ isForgotten, userCount, opening }: Kept): Promise<void> {
  if (!isForgotten || userCount > 0) return;
  const connection = await opening.catch(() => null);
  await connection?.client.close();
}
