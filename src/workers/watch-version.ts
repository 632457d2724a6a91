import { setTimeout as sleep } from 'node:timers/promises';
import type { temporal } from '@temporalio/proto';
import type { Logger } from 'pino';
import type { TemporalAddress } from '../config/temporal-connection';
import type { WorkerVersion } from '../config/worker-version';
import { makeCurrentCommand } from '../config/worker-version';

/** What Temporal gives the workers of a version. */
export type VersionStanding =
  | { readonly gets: 'all' }
  /** A share of runs, while a release is tried out. */
  | { readonly gets: 'share'; readonly percentage: number }
  /** Nothing: another version is current, or none is. */
  | { readonly gets: 'nothing'; readonly current: string | null };

/** The part of Temporal's API that is read here. */
export interface DeploymentReader {
  describeWorkerDeployment(request: {
    readonly namespace: string;
    readonly deploymentName: string;
  }): Promise<temporal.api.workflowservice.v1.IDescribeWorkerDeploymentResponse>;
  describeWorkerDeploymentVersion(request: {
    readonly namespace: string;
    readonly deploymentVersion: WorkerVersion;
  }): Promise<temporal.api.workflowservice.v1.IDescribeWorkerDeploymentVersionResponse>;
}

export interface WatchVersionOptions {
  readonly version: WorkerVersion;
  readonly server: TemporalAddress;
  /** What this worker polls. */
  readonly taskQueues: readonly string[];
  readonly service: DeploymentReader;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly intervals?: Intervals;
}

interface Intervals {
  /** Until the server knows all queues of the worker, which it hears from the first polls. */
  readonly firstMs: number;
  /** Afterwards: the answer costs the server some work, and only a person changes it. */
  readonly laterMs: number;
}

const INTERVALS: Intervals = { firstMs: 500, laterMs: 10_000 };
/** Answers that asking again does not change: the server is too old, or the key may not read deployments. */
const FINAL_CODES: readonly unknown[] = [7, 12, 16];

/**
 * Says in the log what the worker's version gets, now and whenever that changes. Without it a worker that waits to be
 * made current looks like one that is broken.
 */
export async function watchVersion(options: WatchVersionOptions): Promise<void> {
  const { signal, logger, intervals = INTERVALS } = options;
  let last: VersionStanding | null = null;
  while (!signal.aborted) {
    try {
      const standing = await readStanding(options, last);
      if (standing !== null && !isSame(standing, last)) {
        report(options, standing);
        last = standing;
      }
    } catch (error) {
      if (isFinal(error)) {
        logger.warn({ error: String(error) }, 'the server does not say which version is current');
        return;
      }
      // A server that is away says nothing about versions; the SDK reports it.
    }
    await sleep(last === null ? intervals.firstMs : intervals.laterMs, undefined, { signal }).catch(
      () => undefined,
    );
  }
}

/**
 * Null until the server has heard of every queue: the command that makes a version current is refused while one is
 * missing that the current version serves.
 */
async function readStanding(
  { version, server: { namespace }, service, taskQueues }: WatchVersionOptions,
  last: VersionStanding | null,
): Promise<VersionStanding | null> {
  const { deploymentName, buildId } = version;
  if (last === null) {
    const own = await service.describeWorkerDeploymentVersion({ namespace, deploymentVersion: version });
    const known = own.workerDeploymentVersionInfo?.taskQueueInfos?.map(({ name }) => name) ?? [];
    if (!taskQueues.every((name) => known.includes(name))) return null;
  }
  const answer = await service.describeWorkerDeployment({ namespace, deploymentName });
  return standingOf(buildId, answer.workerDeploymentInfo?.routingConfig ?? {});
}

export function standingOf(
  buildId: string,
  routing: temporal.api.deployment.v1.IRoutingConfig,
): VersionStanding {
  const current = routing.currentDeploymentVersion?.buildId ?? null;
  if (current === buildId) return { gets: 'all' };
  const percentage = routing.rampingVersionPercentage ?? 0;
  if (routing.rampingDeploymentVersion?.buildId === buildId && percentage > 0)
    return { gets: 'share', percentage };
  return { gets: 'nothing', current };
}

function isSame(one: VersionStanding, other: VersionStanding | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function report({ version, server, logger }: WatchVersionOptions, standing: VersionStanding): void {
  const { deploymentName, buildId } = version;
  const name = `version ${buildId} of deployment ${deploymentName}`;
  const fields = { deployment: deploymentName, buildId };
  switch (standing.gets) {
    case 'all':
      logger.info(fields, `${name} is current: this worker gets work`);
      return;
    case 'share':
      logger.info(fields, `${name} is ramping: this worker gets ${standing.percentage} % of the runs`);
      return;
    case 'nothing':
      logger.warn(
        { ...fields, current: standing.current },
        `${name} is not current (${standing.current ?? 'no version'} is): this worker gets no new work. ` +
          `To make it current: ${makeCurrentCommand(version, server)}`,
      );
  }
}

function isFinal(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && FINAL_CODES.includes(error.code);
}
