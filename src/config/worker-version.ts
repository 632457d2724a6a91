import { DomainError } from '../core/errors';
import type { TemporalAddress } from './temporal-connection';

/** The release a worker belongs to: Temporal hands work to the current one of a deployment. */
export interface WorkerVersion {
  /** Workers of every role that work together, release after release. */
  readonly deploymentName: string;
  /** One release of them; workers with the same name must run the same code and plug-ins. */
  readonly buildId: string;
}

/** What a person said, on the command line or in the environment. */
export interface VersionRequest {
  readonly deployment: string | null;
  readonly buildId: string | null;
}

// Temporal joins both to "<deployment>.<build>" or "<deployment>:<build>", so the name holds neither; what it allows
// beyond these would have to be quoted in a shell.
const DEPLOYMENT = { form: /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/, allowed: 'letters, digits, "-" and "_"' };
const BUILD = {
  form: /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/,
  allowed: 'letters, digits, ".", "+", "-" and "_"',
};

/** Versioning is off unless both are given: half a version would silently be none. */
export function readWorkerVersion({ deployment, buildId }: VersionRequest): WorkerVersion | null {
  if (deployment === null && buildId === null) return null;
  if (deployment === null || buildId === null) {
    const [given, missing] =
      deployment === null
        ? ['--build-id (EVERSTEP_BUILD_ID)', '--deployment (EVERSTEP_DEPLOYMENT)']
        : ['--deployment (EVERSTEP_DEPLOYMENT)', '--build-id (EVERSTEP_BUILD_ID)'];
    throw new DomainError(
      'bad-config',
      `The worker has ${given} without ${missing}. Give both, or neither for a worker without versions.`,
    );
  }
  requireForm('--deployment', deployment, DEPLOYMENT);
  requireForm('--build-id', buildId, BUILD);
  return { deploymentName: deployment, buildId };
}

/** What a person runs so that the workers of a version get the work. */
export function makeCurrentCommand(
  { deploymentName, buildId }: WorkerVersion,
  { address, namespace }: Pick<TemporalAddress, 'address' | 'namespace'>,
): string {
  return (
    'temporal worker deployment set-current-version --yes ' +
    `--deployment-name ${deploymentName} --build-id ${buildId} --address ${address} --namespace ${namespace}`
  );
}

function requireForm(flag: string, value: string, { form, allowed }: typeof BUILD): void {
  if (form.test(value)) return;
  throw new DomainError(
    'bad-config',
    `${flag} is "${value}". Use up to 100 of ${allowed}, beginning with a letter or digit.`,
  );
}
