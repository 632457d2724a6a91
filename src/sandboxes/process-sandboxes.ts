import { availableParallelism } from 'node:os';
import type { SandboxChoice } from '../core/sandbox-choice';
import { chooseKind, sandboxKinds } from './choose-kind';
import { Leases } from './leases/leases';
import { PluginKind } from './plugin-kind';
import type { SandboxFactory } from './sandbox';
import { SandboxPool } from './sandbox-pool';

interface FactoryOfFile {
  readonly factory: SandboxFactory;
  readonly file: string;
}

/**
 * The sandboxes of a process: one pool for all graders and environments, so that what runs at once is bounded by the processors.
 * Opened when it is first needed.
 */
class ProcessSandboxes {
  private choice: SandboxChoice = 'auto';
  private plugin: FactoryOfFile | null = null;
  private pool: Promise<SandboxPool> | null = null;

  /** Which kind to use from now on; a pool that is open already keeps its own. */
  choose(choice: SandboxChoice): void {
    this.choice = choice;
  }

  /** The factory of a plug-in file goes before every kind of ours. */
  bring(plugin: FactoryOfFile): void {
    if (plugin.file === this.plugin?.file) return;
    this.plugin = plugin;
    // What a spare one leaves is the reaper's.
    void this.close().catch(() => undefined);
  }

  open(): Promise<SandboxPool> {
    this.pool ??= this.openPool().catch((error: unknown) => {
      this.pool = null;
      throw error;
    });
    return this.pool;
  }

  /** Ends what waits for use; asking again opens a new pool. */
  async close(): Promise<void> {
    const { pool } = this;
    this.pool = null;
    await (await pool?.catch(() => null))?.close();
  }

  private async openPool(): Promise<SandboxPool> {
    const leases = new Leases();
    const kind = this.plugin
      ? new PluginKind(this.plugin.factory, this.plugin.file)
      : (await chooseKind(this.choice, sandboxKinds(leases))).kind;
    return new SandboxPool({ kind, leases, size: availableParallelism() });
  }
}

/** Graders are declarations and have nobody who could hand them a pool. */
export const processSandboxes = new ProcessSandboxes();
