import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import type { SandboxLimits } from '../sandbox';
import type { Architecture } from './seccomp/system-call-numbers';

export interface BubblewrapTools {
  readonly bwrap: string;
  readonly prlimit: string;
  /** Version 0.8 and later can forbid user namespaces inside. */
  readonly canForbidNamespaces: boolean;
  readonly architecture: Architecture;
}

export interface ConfinedCommand {
  readonly tools: BubblewrapTools;
  /** On this machine; the program's working folder. */
  readonly folder: string;
  /** On this machine; a file of zeros. */
  readonly zeros: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly limits: SandboxLimits;
}

/** Nobody's, inside; outside too where we run as root. */
export const NOBODY = 65534;
/** Where bwrap reports the first process and the exit code. */
export const STATUS_DESCRIPTOR = 3;
/** Where bwrap reads the filter of system calls. */
export const FILTER_DESCRIPTOR = 4;

const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];
const SYSTEM_FILES = ['/etc/ld.so.cache', '/etc/alternatives'];
const SHARED_MEMORY_BYTES = 16 * 1024 * 1024;
const NO_TERMINALS_BYTES = 4096;
const PLAIN_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', LC_ALL: 'C.UTF-8' };
/** Signals and timers that wait, of all processes. */
const MOST_SIGNALS = 4096;
/** The first process counts too, and on older systems bwrap. */
const OWN_PROCESSES = 2;
/** Waits for the program and ends as it did. What a shell says of that, and sets in its environment, is no part of the program. */
const FIRST_PROCESS = 'unset PWD OLDPWD SHLVL; exec 3>&2 2>/dev/null; (exec 2>&3 3>&-; exec "$@"); exit "$?"';

/**
 * The arguments of bwrap for one program.
 *
 * The limits are set inside, after the user is no longer root: root is exempt from the limit of processes. They are set of the first process,
 * which a program has power over, as over all of its user: bwrap's own would have none.
 */
export function bubblewrapArguments({ tools, folder, zeros, argv, env, limits }: ConfinedCommand): string[] {
  return [
    ...['--unshare-all', '--unshare-user', '--die-with-parent', '--new-session', '--as-pid-1'],
    ...(tools.canForbidNamespaces ? ['--disable-userns'] : []),
    ...['--uid', String(NOBODY), '--gid', String(NOBODY), '--hostname', 'sandbox'],
    ...['--cap-drop', 'ALL'],
    ...systemArguments(),
    ...['--proc', '/proc', '--dev', '/dev'],
    // Mapped and shared, the device itself is memory of any size.
    ...['--ro-bind', zeros, '/dev/zero'],
    // Terminals hold memory of the system, and there are so many for the whole machine.
    ...['--size', String(NO_TERMINALS_BYTES), '--tmpfs', '/dev/pts', '--remount-ro', '/dev/pts'],
    ...['--size', String(SHARED_MEMORY_BYTES), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--size', String(limits.diskBytes), '--tmpfs', '/tmp'],
    ...['--bind', folder, '/work', '--chdir', '/work', '--remount-ro', '/'],
    ...Object.entries({ ...PLAIN_ENVIRONMENT, ...env }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--json-status-fd', String(STATUS_DESCRIPTOR), '--seccomp', String(FILTER_DESCRIPTOR), '--'],
    // The folder is a name that whoever looks for what was left behind finds.
    ...[tools.prlimit, ...limitArguments(limits), '--', '/bin/sh', '-c', FIRST_PROCESS, folder, ...argv],
  ];
}

function limitArguments(limits: SandboxLimits): string[] {
  return [
    `--nproc=${limits.processCount + OWN_PROCESSES}`,
    `--data=${limits.memoryBytes}`,
    `--fsize=${limits.diskBytes}`,
    // The soft limit is told by a signal of its own.
    `--cpu=${Math.ceil(limits.cpuSeconds)}:${Math.ceil(limits.cpuSeconds) + 1}`,
    '--core=0',
    '--nofile=256',
    '--memlock=0',
    '--msgqueue=0',
    `--sigpending=${MOST_SIGNALS}`,
  ];
}

/** Programs and libraries; where `/bin` and the like are links into `/usr` they are links inside too. */
function systemArguments(): string[] {
  const folders = SYSTEM_FOLDERS.flatMap((place) => {
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (!found) return [];
    return found.isSymbolicLink() ? ['--symlink', readlinkSync(place), place] : ['--ro-bind', place, place];
  });
  const files = SYSTEM_FILES.filter((place) => existsSync(place));
  return ['--ro-bind', '/usr', '/usr', ...folders, ...files.flatMap((file) => ['--ro-bind', file, file])];
}
