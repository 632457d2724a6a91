import { hostname } from 'node:os';
import { DomainError } from '../../core/errors';
import type { Lease, Leases } from '../leases/leases';
import type { Availability, Sandbox, SandboxKind } from '../sandbox';
import { sandboxLost } from '../sandbox';
import { containerOptions, SANDBOX_IMAGE, LEASE_LABEL, PLACE_LABEL } from './container-options';
import { answerInTime, ANSWER_LIMIT_MS } from './answer-in-time';
import type { DockerContainer, DockerEngine } from './docker-engine';
import { loadDocker } from './docker-engine';
import { DockerSandbox } from './docker-sandbox';

/** Containers of a Docker engine: without network, with a read-only system, as nobody. */
export class DockerKind implements SandboxKind {
  readonly name = 'docker';
  readonly isSlowToOpen = true;

  constructor(
    private readonly leases: Leases,
    /** How long the engine may take to answer. */
    private readonly answerLimitMs: number = ANSWER_LIMIT_MS,
  ) {}

  async availability(): Promise<Availability> {
    const docker = await loadDocker();
    if (docker === null)
      return { isAvailable: false, reason: 'the package dockerode is not installed; npm install dockerode' };
    try {
      await this.answer(docker.ping());
    } catch {
      return { isAvailable: false, reason: 'no Docker engine answers; start one' };
    }
    try {
      await this.answer(docker.getImage(SANDBOX_IMAGE).inspect());
    } catch {
      return { isAvailable: false, reason: `the image is not there; docker pull ${SANDBOX_IMAGE}` };
    }
    const { ServerVersion = 'unknown' } = await this.answer(docker.info());
    return { isAvailable: true, found: `Docker ${ServerVersion}, image ${SANDBOX_IMAGE}` };
  }

  async open(): Promise<Sandbox> {
    const docker = await loadDocker();
    if (docker === null) throw new DomainError('bad-config', 'docker: npm install dockerode, and try again.');
    const lease = await this.leases.open();
    try {
      await this.reapContainers(docker);
      const container = await this.startContainer(docker, this.placeOf(lease));
      return new DockerSandbox({ docker, container, lease, answerLimitMs: this.answerLimitMs });
    } catch (cause) {
      await lease.release();
      throw cause instanceof DomainError ? cause : sandboxLost('docker', String(cause), cause);
    }
  }

  private async startContainer(
    docker: DockerEngine,
    labels: { readonly lease: string; readonly place: string },
  ): Promise<DockerContainer> {
    const options = containerOptions(labels);
    const container = await this.answer(docker.createContainer(options)).catch((cause: unknown) => {
      throw isMissing(cause) ? noImage(cause) : cause;
    });
    try {
      await this.answer(container.start());
      return container;
    } catch (error) {
      await this.answer(container.remove({ force: true, v: true })).catch(() => undefined);
      throw error;
    }
  }

  private answer<Result>(work: Promise<Result>): Promise<Result> {
    return answerInTime(work, this.answerLimitMs);
  }

  /** Containers of leases of this machine that are gone. */
  private async reapContainers(docker: DockerEngine): Promise<void> {
    const filters = { label: [`${PLACE_LABEL}=${this.place}`] };
    const containers = await this.answer(docker.listContainers({ all: true, filters }));
    if (containers.length === 0) return;
    await this.leases.reap();
    const living = new Set(await this.leases.list());
    const left = containers.filter(({ Labels }) => !living.has(Labels[LEASE_LABEL] ?? ''));
    for (const { Id } of left) {
      // Another process may be removing it too.
      const removing = docker.getContainer(Id).remove({ force: true, v: true });
      await this.answer(removing).catch(() => undefined);
    }
  }

  private get place(): string {
    return `${hostname()} ${this.leases.root}`;
  }

  private placeOf(lease: Lease) {
    return { lease: lease.id, place: this.place };
  }
}

/** The only thing that is missing where a container cannot be made of an image. */
function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'statusCode' in error && error.statusCode === 404;
}

function noImage(cause: unknown): DomainError {
  return new DomainError(
    'bad-config',
    `docker: the image ${SANDBOX_IMAGE} is not there. docker pull ${SANDBOX_IMAGE}`,
    {
      cause,
    },
  );
}
