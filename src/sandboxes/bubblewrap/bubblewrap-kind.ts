import path from 'node:path';
import { DomainError } from '../../core/errors';
import type { Lease, Leases } from '../leases/leases';
import type { Availability, ExecOptions, ExecResult, Sandbox, SandboxKind } from '../sandbox';
import { DEFAULT_LIMITS, DEFAULT_TIMEOUT_MS } from '../sandbox';
import type { BubblewrapTools } from './command';
import { runConfined } from './confined-process';
import { findTools } from './find-tools';
import { Workspace } from './workspace';

/** Real processes in namespaces of their own. Linux, with bwrap, prlimit and Python of the system's. */
export class BubblewrapKind implements SandboxKind {
  readonly name = 'bubblewrap';
  readonly isSlowToOpen = false;
  private tools: Promise<BubblewrapTools | string> | null = null;

  constructor(private readonly leases: Leases) {}

  async availability(): Promise<Availability> {
    const tools = await this.findTools();
    if (typeof tools === 'string') return { isAvailable: false, reason: tools };
    return { isAvailable: true, found: tools.bwrap };
  }

  async open(): Promise<Sandbox> {
    const tools = await this.findTools();
    if (typeof tools === 'string') throw new DomainError('bad-config', `bubblewrap: ${tools}.`);
    const lease = await this.leases.open();
    try {
      const workspace = new Workspace(path.join(lease.folder, 'work'));
      await workspace.create();
      return new BubblewrapSandbox({ tools, lease, workspace });
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  private findTools(): Promise<BubblewrapTools | string> {
    this.tools ??= findTools();
    return this.tools;
  }
}

interface SandboxParts {
  readonly tools: BubblewrapTools;
  readonly lease: Lease;
  readonly workspace: Workspace;
}

class BubblewrapSandbox implements Sandbox {
  readonly kind = 'bubblewrap';

  constructor(private readonly parts: SandboxParts) {}

  exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const { tools, workspace } = this.parts;
    return runConfined({
      tools,
      folder: workspace.folder,
      zeros: workspace.zeros,
      argv,
      env: options.env ?? {},
      stdin: options.stdin ?? '',
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      silence: options.silence,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      signal: options.signal,
    });
  }

  writeFile(file: string, content: string | Uint8Array): Promise<void> {
    return this.parts.workspace.write(file, content);
  }

  readFile(file: string): Promise<Uint8Array> {
    return this.parts.workspace.read(file);
  }

  close(): Promise<void> {
    return this.parts.lease.release();
  }
}
