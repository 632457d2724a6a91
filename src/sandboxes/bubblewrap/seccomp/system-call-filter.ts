import type { Condition, Instruction } from './packet-filter';
import {
  ARCHITECTURE_OFFSET,
  encode,
  giveBack,
  ifAtLeast,
  ifEqual,
  ifOther,
  load,
  NUMBER_OFFSET,
  when,
} from './packet-filter';
import type { Architecture, SystemCall } from './system-call-numbers';

/** What the program is answered in place of the call: an error number of Linux, or 0 for a call that seems to succeed. */
interface Rule {
  readonly calls: readonly SystemCall[];
  readonly when?: readonly Condition[];
  readonly answer: number;
}

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const ANSWER = 0x00050000;

const NOT_PERMITTED = 1;
const NO_MEMORY = 12;
const INVALID = 22;
const NO_SUCH_CALL = 38;
const NO_SUCH_PROTOCOL = 93;
const NOT_SUPPORTED = 95;
const NO_SUCH_FAMILY = 97;

/** What a process may ask for itself: what signal of its parent's death it gets, dumps, its name, slack, whose orphans it takes, no new rights, huge pages. */
const PROCESS_OPTIONS = [2, 3, 4, 15, 16, 21, 23, 29, 30, 36, 37, 38, 39, 41, 42];
const SOCKET_FAMILIES = [/* AF_UNIX */ 1, /* AF_INET */ 2, /* AF_INET6 */ 10, /* AF_NETLINK */ 16];
const INTERNET_FAMILIES = [2, 10];
/** Each type's own, TCP and UDP. */
const PROTOCOLS = [0, 6, 17];
/** Bits of SOCK_RDM, SEQPACKET, DCCP and PACKET; STREAM, DGRAM and RAW have neither. */
const OTHER_TYPES = 0xc;
const SOL_SOCKET = 1;
const BUFFER_SIZES = [/* SO_SNDBUF */ 7, /* SO_RCVBUF */ 8];
const SOL_TCP = 6;
const TCP_ULP = 31;
/** F_OFD_GETLK, SETLK and SETLKW. */
const OPEN_FILE_LOCKS = [36, 37, 38];
const MAP_SHARED = 0x1;
const MAP_ANONYMOUS = 0x20;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const CLONE_NAMESPACES = 0x7e020000;
const CLONE_FILES = 0x400;
const CLONE_THREAD = 0x10000;

/**
 * Keeps programs from holding memory where no one counts it. What holds memory is told as lack of memory, so that a program that ends by
 * it says so. What has another way of doing the same is told as a program falls back on it.
 */
function rulesFor(sharedBytes: number): readonly Rule[] {
  return [
    // Memory that lies in the system and outlives every mapping and descriptor.
    {
      calls: [
        ...(['shmget', 'msgget', 'semget', 'mq_open', 'add_key', 'request_key', 'keyctl'] as const),
        ...(['memfd_create', 'memfd_secret', 'vmsplice', 'userfaultfd'] as const),
        ...(['inotify_init', 'inotify_init1', 'fanotify_init', 'landlock_create_ruleset'] as const),
        ...(['io_uring_setup', 'io_uring_enter', 'io_uring_register', 'bpf', 'perf_event_open'] as const),
      ],
      answer: NO_MEMORY,
    },
    // A list of who may do what with a file, of 64 KiB, lies in the system beside a name that counts 1 KiB.
    { calls: ['setxattr', 'lsetxattr', 'fsetxattr', 'setxattrat'], answer: NOT_SUPPORTED },
    // The machine has so many contexts for all, and their rings lie in the system.
    { calls: ['io_setup'], answer: NO_SUCH_CALL },
    // A process may ask for tables and filters of its own, of gigabytes, that lie in the system; and to live on when what watches over it dies.
    { calls: ['prctl'], when: [{ argument: 0, is: 'noneOf', values: PROCESS_OPTIONS }], answer: INVALID },
    // Filters of dead processes live on with what hears of them.
    { calls: ['seccomp'], answer: NO_SUCH_CALL },
    // What is left of a mapping does not tell how large it was.
    {
      calls: ['mmap'],
      when: [
        { argument: 3, is: 'anyBit', mask: MAP_ANONYMOUS },
        { argument: 3, is: 'anyBit', mask: MAP_SHARED },
        { argument: 1, is: 'above', limit: sharedBytes },
      ],
      answer: NO_MEMORY,
    },
    // Pages of files that are gone live on in pipes and sockets, a byte of each counted.
    { calls: ['sendfile', 'splice', 'tee'], answer: INVALID },
    // These locks name no process that holds them.
    { calls: ['fcntl'], when: [{ argument: 1, is: 'oneOf', values: OPEN_FILE_LOCKS }], answer: INVALID },
    ...socketRules(),
    // A thread's own descriptors, and namespaces, are seen by nobody who watches. The flags of clone3 cannot be looked at; all use clone then.
    { calls: ['clone3'], answer: NO_SUCH_CALL },
    { calls: ['unshare', 'setns'], answer: NOT_PERMITTED },
    {
      calls: ['clone'],
      when: [{ argument: 0, is: 'anyBit', mask: CLONE_NAMESPACES }],
      answer: NOT_PERMITTED,
    },
    {
      calls: ['clone'],
      when: [
        { argument: 0, is: 'anyBit', mask: CLONE_THREAD },
        { argument: 0, is: 'noBit', mask: CLONE_FILES },
      ],
      answer: NOT_PERMITTED,
    },
  ];
}

/** So that what waits in sockets is found where it is counted. */
function socketRules(): readonly Rule[] {
  return [
    {
      calls: ['socket', 'socketpair'],
      when: [{ argument: 0, is: 'noneOf', values: SOCKET_FAMILIES }],
      answer: NO_SUCH_FAMILY,
    },
    // What waits in sockets of multipath TCP, SCTP and others shows nowhere.
    {
      calls: ['socket'],
      when: [
        { argument: 0, is: 'oneOf', values: INTERNET_FAMILIES },
        { argument: 2, is: 'noneOf', values: PROTOCOLS },
      ],
      answer: NO_SUCH_PROTOCOL,
    },
    {
      calls: ['socket'],
      when: [
        { argument: 0, is: 'oneOf', values: INTERNET_FAMILIES },
        { argument: 1, is: 'anyBit', mask: OTHER_TYPES },
      ],
      answer: NO_SUCH_PROTOCOL,
    },
    // Another protocol put over TCP (TLS, SMC) has buffers of its own.
    {
      calls: ['setsockopt'],
      when: [
        { argument: 1, is: 'oneOf', values: [SOL_TCP] },
        { argument: 2, is: 'oneOf', values: [TCP_ULP] },
      ],
      answer: NO_SUCH_PROTOCOL,
    },
    // Buffers stay as large as they are counted.
    {
      calls: ['setsockopt'],
      when: [
        { argument: 1, is: 'oneOf', values: [SOL_SOCKET] },
        { argument: 2, is: 'oneOf', values: BUFFER_SIZES },
      ],
      answer: 0,
    },
  ];
}

/**
 * The filter of system calls of one program, as `bwrap --seccomp` takes it.
 *
 * `sharedBytes` is the most that one mapping of memory shared between processes, without a file, may have.
 */
export function systemCallFilter(architecture: Architecture, sharedBytes: number): Buffer {
  const { audit, foreignFrom } = architecture;
  return encode([
    load(ARCHITECTURE_OFFSET),
    ...ifOther(audit, [giveBack(KILL_PROCESS)]),
    load(NUMBER_OFFSET),
    ...(foreignFrom === null ? [] : ifAtLeast(foreignFrom, [answer(NO_SUCH_CALL)])),
    ...rulesFor(sharedBytes).flatMap((rule) => compile(architecture, rule)),
    giveBack(ALLOW),
  ]);
}

function compile({ numbers }: Architecture, rule: Rule): Instruction[] {
  return rule.calls.flatMap((call) => {
    const number = numbers.get(call);
    if (number === undefined) return [];
    const body = [answer(rule.answer)];
    return ifEqual(number, rule.when ? [...when(rule.when, body), load(NUMBER_OFFSET)] : body);
  });
}

function answer(errorNumber: number): Instruction {
  return giveBack(ANSWER | errorNumber);
}
