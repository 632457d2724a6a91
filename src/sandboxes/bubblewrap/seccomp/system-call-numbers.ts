/** As in `AUDIT_ARCH_*` of `linux/audit.h`, and the numbers of `asm/unistd.h`. */
export interface Architecture {
  readonly audit: number;
  /** Numbers from here on are those of another interface of the same processor (x32); null where there is none. */
  readonly foreignFrom: number | null;
  /** Without those that it has not. */
  readonly numbers: ReadonlyMap<string, number>;
}

export type SystemCall = keyof typeof NUMBERS;

/** On x86-64 and on arm64; null where an architecture has no such call. */
const NUMBERS = {
  add_key: [248, 217],
  bpf: [321, 280],
  clone: [56, 220],
  clone3: [435, 435],
  fanotify_init: [300, 262],
  fcntl: [72, 25],
  fsetxattr: [190, 7],
  inotify_init: [253, null],
  inotify_init1: [294, 26],
  io_setup: [206, 0],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  keyctl: [250, 219],
  landlock_create_ruleset: [444, 444],
  lsetxattr: [189, 6],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  mmap: [9, 222],
  mq_open: [240, 180],
  msgget: [68, 186],
  perf_event_open: [298, 241],
  prctl: [157, 167],
  request_key: [249, 218],
  seccomp: [317, 277],
  semget: [64, 190],
  sendfile: [40, 71],
  setns: [308, 268],
  setsockopt: [54, 208],
  setxattr: [188, 5],
  setxattrat: [463, 463],
  shmget: [29, 194],
  socket: [41, 198],
  socketpair: [53, 199],
  splice: [275, 76],
  tee: [276, 77],
  unshare: [272, 97],
  userfaultfd: [323, 282],
  vmsplice: [278, 75],
} as const satisfies Record<string, readonly [number | null, number | null]>;

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, foreignFrom: 0x40000000, numbers: numbersOf(0) },
  arm64: { audit: 0xc00000b7, foreignFrom: null, numbers: numbersOf(1) },
};

/** By the name that Node gives a processor's architecture; null where its calls are not listed. */
export function findArchitecture(name: string): Architecture | null {
  return ARCHITECTURES[name] ?? null;
}

function numbersOf(column: 0 | 1): Architecture['numbers'] {
  return new Map(
    Object.entries(NUMBERS).flatMap(([call, { [column]: number }]) =>
      number === null ? [] : [[call, number]],
    ),
  );
}
