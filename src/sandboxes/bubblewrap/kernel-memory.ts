import { statfsSync, statSync } from 'node:fs';
import { readText } from './process-family';

/** The folders of a sandbox whose files are memory. */
const MEMORY_FOLDERS = ['/tmp', '/dev/shm'];
/** `TMPFS_MAGIC` of `linux/magic.h`. */
const TMPFS = 0x01021994;
/** Of a file without content, with its name. */
const FILE_BYTES = 1024;
/** Linux's own sizes, for where it does not tell them: a container sees only some of its settings. */
const BUFFER_BYTES = 212_992;
const OPTION_BYTES = 131_072;
/** A buffer takes one more piece when it is all but full. */
const OVERFLOW = 1.5;
/** What waits lies in pieces, each with room to spare. */
const ROOM = 2;
const TCP_QUEUES = /^ *\d+: \S+ \S+ \S\S ([0-9A-F]{8}):([0-9A-F]{8})/gm;

/**
 * The most that the system itself can hold for a program whose first process is `pid`: what waits in its sockets, and the names of files
 * that are memory. Sockets and files that no process has open any more, on their way in another socket, are among them.
 */
export function kernelBytes(pid: number): number {
  return socketBytes(pid) + fileBytes(pid);
}

function socketBytes(pid: number): number {
  const inUse = readText(`/proc/${pid}/net/sockstat`);
  const count = Number(/^sockets: used (\d+)/m.exec(inUse)?.[1] ?? 0);
  const each = setting('wmem_default', BUFFER_BYTES) * OVERFLOW + setting('optmem_max', OPTION_BYTES);
  return count * each + waitingBytes(pid, inUse);
}

/** TCP lets its buffers grow with what waits in them. The system looks long for its sockets, even where there are none. */
function waitingBytes(pid: number, inUse: string): number {
  const hasSome = /^TCP6?: inuse [1-9]/m;
  const families = [
    ...(hasSome.test(inUse) ? ['tcp'] : []),
    ...(hasSome.test(readText(`/proc/${pid}/net/sockstat6`)) ? ['tcp6'] : []),
  ];
  return families
    .flatMap((family) => [...readText(`/proc/${pid}/net/${family}`).matchAll(TCP_QUEUES)])
    .reduce(
      (sum, [, sent = '', received = '']) => sum + ROOM * (parseInt(sent, 16) + parseInt(received, 16)),
      0,
    );
}

/** Of files that are memory, their names alone: how much they may hold is bounded. */
export function fileBytes(pid: number): number {
  return MEMORY_FOLDERS.reduce((sum, folder) => sum + fileCount(pid, folder) * FILE_BYTES, 0);
}

/** None until the folder is the sandbox's own: in its first moments a process sees the machine's. */
function fileCount(pid: number, folder: string): number {
  const place = `/proc/${pid}/root${folder}`;
  try {
    const own = statSync(folder, { throwIfNoEntry: false })?.dev;
    if (statSync(place).dev === own) return 0;
    const { type, files, ffree } = statfsSync(place);
    return type === TMPFS ? files - ffree : 0;
  } catch {
    return 0;
  }
}

function setting(name: string, otherwise: number): number {
  return Number(readText(`/proc/sys/net/core/${name}`)) || otherwise;
}
