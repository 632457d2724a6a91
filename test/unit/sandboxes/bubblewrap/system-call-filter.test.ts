import { systemCallFilter } from '../../../../src/sandboxes/bubblewrap/seccomp/system-call-filter';
import { findArchitecture } from '../../../../src/sandboxes/bubblewrap/seccomp/system-call-numbers';

const ALLOWED = 'allowed';
const KILLED = 'killed';
const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;
const I386 = 0x40000003;
const SHARED_BYTES = 8 * 1024 * 1024;
const FOUR_GIB = 2 ** 32;

interface Call {
  readonly audit: number;
  readonly number: number;
  readonly arguments?: readonly number[];
}

/** What the kernel does with a call, by its own reading of the program: `allowed`, `killed`, or the error number that is answered. */
function decide(architecture: 'x64' | 'arm64', call: Call): string | number {
  const program = systemCallFilter(known(architecture), SHARED_BYTES);
  const data = seccompData(call);
  let read = 0;
  for (let at = 0; at * 8 < program.length; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return actionOf(value);
    if (code === 0x20) read = data.readUInt32LE(value);
    else at += program.readUInt8(at * 8 + (jumps(code, read, value) ? 2 : 3));
  }
  throw new Error('The program has no end.');
}

function known(name: string) {
  const architecture = findArchitecture(name);
  if (!architecture) throw new Error(`${name} is not known.`);
  return architecture;
}

function jumps(code: number, read: number, value: number): boolean {
  if (code === 0x15) return read === value;
  if (code === 0x25) return read > value;
  if (code === 0x35) return read >= value;
  if (code === 0x45) return (read & value) !== 0;
  throw new Error(`There is no instruction ${code} here.`);
}

function seccompData({ audit, number, arguments: given = [] }: Call): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  given.forEach((value, index) => data.writeBigUInt64LE(BigInt(value), 16 + 8 * index));
  return data;
}

function actionOf(value: number): string | number {
  if (value === 0x7fff0000) return ALLOWED;
  if (value === 0x80000000) return KILLED;
  return value & 0xffff;
}

const MAP = { shared: 0x1, private: 0x2, anonymous: 0x20 };
const THREAD = 0x3d0f00;

/** Numbers of x86-64 and arm64, as their tables in the kernel have them. */
test.each([
  ['read', [0, 63], [], ALLOWED],
  ['execve', [59, 221], [], ALLOWED],
  ['sendmsg', [46, 211], [], ALLOWED],
  ['shmget', [29, 194], [], 12],
  ['memfd_create', [319, 279], [], 12],
  ['io_uring_setup', [425, 425], [], 12],
  ['splice', [275, 76], [], 22],
  ['clone3', [435, 435], [], 38],
  ['unshare', [272, 97], [], 1],
  ['a lock of a process', [72, 25], [3, 6], ALLOWED],
  ['a lock of an open file', [72, 25], [3, 37], 22],
  ['a Unix socket', [41, 198], [1], ALLOWED],
  ['a socket of IPv6', [41, 198], [10], ALLOWED],
  ['a socket to the host of a virtual machine', [41, 198], [40], 97],
  ['a pair of Unix sockets', [53, 199], [1], ALLOWED],
  ['a timeout of a socket', [54, 208], [3, 1, 20], ALLOWED],
  ['an option of TCP', [54, 208], [3, 6, 7], ALLOWED],
  ['a send buffer', [54, 208], [3, 1, 7], 0],
  ['a receive buffer', [54, 208], [3, 1, 8], 0],
  ['memory of its own', [9, 222], [0, 8 * FOUR_GIB, 3, MAP.private | MAP.anonymous], ALLOWED],
  ['a file shared', [9, 222], [0, 8 * FOUR_GIB, 3, MAP.shared], ALLOWED],
  ['a piece of shared memory', [9, 222], [0, SHARED_BYTES, 3, MAP.shared | MAP.anonymous], ALLOWED],
  ['a larger one', [9, 222], [0, SHARED_BYTES + 1, 3, MAP.shared | MAP.anonymous], 12],
  ['one of 4 GiB', [9, 222], [0, FOUR_GIB, 3, MAP.shared | MAP.anonymous], 12],
  ['a thread', [56, 220], [THREAD], ALLOWED],
  ['a process', [56, 220], [17], ALLOWED],
  ['a thread with descriptors of its own', [56, 220], [THREAD & ~0x400], 1],
  ['a process in a namespace of its own', [56, 220], [0x10000000 + 17], 1],
] as const)('answers %s', (_, [x64, arm64], given, answer) => {
  expect(decide('x64', { audit: X64, number: x64, arguments: given })).toBe(answer);
  expect(decide('arm64', { audit: ARM64, number: arm64, arguments: given })).toBe(answer);
});

test.each([
  ['x64', { audit: I386, number: 3 }, KILLED],
  ['x64', { audit: ARM64, number: 63 }, KILLED],
  ['arm64', { audit: X64, number: 0 }, KILLED],
  ['x64', { audit: X64, number: 0x40000000 }, 38],
  ['x64', { audit: X64, number: 0x40000000 + 29 }, 38],
] as const)('lets nobody on %s in by another interface', (architecture, call, answer) => {
  expect(decide(architecture, call)).toBe(answer);
});

test('knows no calls of other architectures', () => {
  expect(findArchitecture('riscv64')).toBeNull();
});
