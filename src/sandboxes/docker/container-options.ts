import type { SandboxLimits } from '../sandbox';

/** Holds Python and a shell with the usual tools. */
export const SANDBOX_IMAGE = 'python:3.12-slim';
export const LEASE_LABEL = 'everstep.lease';
export const PLACE_LABEL = 'everstep.place';

const NOBODY = '65534:65534';
/** The container's own processes, and what starts a program. */
const OWN_PROCESSES = 4;

/** The first process waits for the others' ends, so that nothing dead counts against the limit. */
const FIRST_PROCESS = ['sh', '-c', 'while :; do sleep 3600 & wait; done'];

/** What a container may, as the engine's interface names it. */
export function containerOptions(
  { memoryBytes, diskBytes, processCount }: SandboxLimits,
  { lease, place }: { readonly lease: string; readonly place: string },
): Readonly<Record<string, unknown>> {
  // Docker's own default forbids to run what lies there.
  const files = `rw,exec,nosuid,nodev,size=${diskBytes},mode=1777`;
  return {
    Image: SANDBOX_IMAGE,
    Cmd: FIRST_PROCESS,
    Entrypoint: [],
    Labels: { [LEASE_LABEL]: lease, [PLACE_LABEL]: place },
    User: NOBODY,
    WorkingDir: '/work',
    NetworkDisabled: true,
    Env: ['HOME=/tmp', 'LC_ALL=C.UTF-8'],
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      Tmpfs: { '/work': files, '/tmp': files },
      // Files in memory count against it too.
      Memory: memoryBytes + 2 * diskBytes,
      MemorySwap: memoryBytes + 2 * diskBytes,
      PidsLimit: processCount + OWN_PROCESSES,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
    },
  };
}
