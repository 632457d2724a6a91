import type { SandboxLimits } from '../sandbox';
import { DEFAULT_LIMITS } from '../sandbox';

export interface TogetherLimits {
  readonly Memory: number;
  readonly MemorySwap: number;
  readonly PidsLimit: number;
}

/** Holds Python and a shell with the usual tools. */
export const SANDBOX_IMAGE = 'python:3.12-slim';
export const LEASE_LABEL = 'everstep.lease';
export const PLACE_LABEL = 'everstep.place';

const NOBODY = 65534;
/** The container's first process, and the one that it waits for. */
const OWN_PROCESSES = 2;

/** The first process waits for the others' ends, so that nothing dead counts against the limit. */
const FIRST_PROCESS = ['sh', '-c', 'while :; do sleep 3600 & wait; done'];

/** What a container may, as the engine's interface names it. */
export function containerOptions({
  lease,
  place,
}: {
  readonly lease: string;
  readonly place: string;
}): Readonly<Record<string, unknown>> {
  // Docker's own default forbids to run what lies there. A folder that the engine made keeps the mode of what it made, whatever `mode` says.
  const files = `rw,exec,nosuid,nodev,size=${DEFAULT_LIMITS.diskBytes},mode=1777,uid=${NOBODY},gid=${NOBODY}`;
  return {
    Image: SANDBOX_IMAGE,
    Cmd: FIRST_PROCESS,
    Entrypoint: [],
    Labels: { [LEASE_LABEL]: lease, [PLACE_LABEL]: place },
    User: `${NOBODY}:${NOBODY}`,
    WorkingDir: '/work',
    NetworkDisabled: true,
    Env: ['HOME=/tmp', 'LC_ALL=C.UTF-8'],
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      Tmpfs: { '/work': files, '/tmp': files },
      ...togetherLimits(DEFAULT_LIMITS),
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
    },
  };
}

/** What the processes of a container may take together; an engine can be told anew while the container runs. */
export function togetherLimits({
  memoryBytes,
  processCount,
}: Pick<SandboxLimits, 'memoryBytes' | 'processCount'>): TogetherLimits {
  // Files in memory count against it too, and their folders keep the size they were made with.
  const memory = memoryBytes + 2 * DEFAULT_LIMITS.diskBytes;
  return { Memory: memory, MemorySwap: memory, PidsLimit: processCount + OWN_PROCESSES };
}
