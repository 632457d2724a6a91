import { DomainError } from '../../core/errors';
import type { TogetherLimits } from './container-options';

/** What is used of dockerode. It is not needed by anybody without Docker, and loaded when it is asked for. */
export interface DockerEngine {
  ping(): Promise<unknown>;
  info(): Promise<{ readonly Name?: string; readonly ServerVersion?: string }>;
  getImage(name: string): { inspect(): Promise<unknown> };
  createContainer(options: Readonly<Record<string, unknown>>): Promise<DockerContainer>;
  listContainers(options: Readonly<Record<string, unknown>>): Promise<readonly DockerListing[]>;
  getContainer(id: string): DockerContainer;
  readonly modem: {
    demuxStream(
      stream: NodeJS.ReadableStream,
      stdout: NodeJS.WritableStream,
      stderr: NodeJS.WritableStream,
    ): void;
  };
}

interface DockerListing {
  readonly Id: string;
  readonly Labels: Readonly<Record<string, string>>;
}

export interface DockerContainer {
  readonly id: string;
  start(): Promise<unknown>;
  update(limits: TogetherLimits): Promise<unknown>;
  remove(options: { readonly force: boolean; readonly v: boolean }): Promise<unknown>;
  exec(options: Readonly<Record<string, unknown>>): Promise<DockerExec>;
  inspect(): Promise<{ readonly State: { readonly Running: boolean; readonly OOMKilled: boolean } }>;
}

interface DockerExec {
  start(options: { readonly hijack: boolean; readonly stdin: boolean }): Promise<NodeJS.ReadWriteStream>;
  inspect(): Promise<{ readonly ExitCode: number | null }>;
}

const PACKAGE: string = 'dockerode';

/** Null where the package is not installed. Finds the engine as Docker's own commands do. */
export async function loadDocker(): Promise<DockerEngine | null> {
  try {
    const loaded: unknown = await import(PACKAGE);
    return build(memberOf(loaded, 'default') ?? loaded);
  } catch (error) {
    if (memberOf(error, 'code') === 'MODULE_NOT_FOUND' || memberOf(error, 'code') === 'ERR_MODULE_NOT_FOUND')
      return null;
    throw error;
  }
}

function build(constructor: unknown): DockerEngine {
  if (typeof constructor !== 'function') throw new DomainError('bad-config', 'dockerode exports no class.');
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the package's own types come with the package, which need not be there
  return Reflect.construct(constructor, []) as DockerEngine;
}

function memberOf(value: unknown, name: string): unknown {
  const mayHave = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return mayHave ? Reflect.get(value, name) : undefined;
}
