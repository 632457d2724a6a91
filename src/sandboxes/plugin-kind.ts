import { DomainError } from '../core/errors';
import type { Availability, Sandbox, SandboxFactory, SandboxKind } from './sandbox';

/** Sandboxes of a plug-in file. What they hold, and that nothing of it stays, is theirs. */
export class PluginKind implements SandboxKind {
  readonly name = 'plugin';
  readonly isSlowToOpen = true;

  constructor(
    private readonly factory: SandboxFactory,
    /** How messages call the file. */
    private readonly file: string,
  ) {}

  availability(): Promise<Availability> {
    return Promise.resolve({ isAvailable: true, found: `sandboxFactory of ${this.file}` });
  }

  async open(): Promise<Sandbox> {
    const made: unknown = await this.factory();
    if (isSandbox(made)) return made;
    throw new DomainError(
      'bad-plugin',
      `plugins: sandboxFactory of ${this.file} made no sandbox. It has to return { kind, exec, writeFile, readFile, close }.`,
    );
  }
}

const METHODS = ['exec', 'writeFile', 'readFile', 'close'] as const;

function isSandbox(value: unknown): value is Sandbox {
  if (typeof value !== 'object' || value === null) return false;
  return METHODS.every((name) => typeof Reflect.get(value, name) === 'function');
}
