import type { WorkerOptions } from '@temporalio/worker';
import type { WorkerVersion } from '../config/worker-version';

/**
 * A versioned worker gets work only while its version is the current one. Every workflow of ours moves on to the
 * current version (docs/decisions/2026-11-21-worker-versions.md), so the behavior is the worker's and not each workflow's.
 */
export function versioningOptions(
  version: WorkerVersion | undefined,
): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (version === undefined) return {};
  return {
    workerDeploymentOptions: {
      version,
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}
