import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** A tick of the kernel's accounting; Linux reports in hundredths of a second whatever it uses itself. */
const TICK_MS = 10;

/** What Linux tells of one process. */
interface Status {
  readonly parent: number;
  /** Of the process itself. */
  readonly cpuMs: number;
  /** Of its children that ended and were waited for. */
  readonly pastChildrenMs: number;
}

/** CPU time of a process and all below it, those that ended included. */
export function cpuMsOf(pid: number): number {
  const all = readAll();
  const below = (parent: number): number => {
    const status = all.get(parent);
    if (!status) return 0;
    const children = [...all].filter(([, child]) => child.parent === parent);
    return status.cpuMs + status.pastChildrenMs + children.reduce((sum, [child]) => sum + below(child), 0);
  };
  return below(pid);
}

/** CPU time of children of this process that have ended. */
export function endedChildrenMs(): number {
  return readStatus(process.pid)?.pastChildrenMs ?? 0;
}

/** Most memory the process has had since `forgetPeak`, in MiB. */
export function peakMemoryMib(pid: number): number {
  return memoryOf(pid, 'VmHWM');
}

export function memoryMib(pid: number): number {
  return memoryOf(pid, 'VmRSS');
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function memoryOf(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024;
}

function readAll(): Map<number, Status> {
  const all = new Map<number, Status>();
  for (const name of readdirSync('/proc')) {
    const status = /^\d+$/.test(name) ? readStatus(Number(name)) : null;
    if (status) all.set(Number(name), status);
  }
  return all;
}

function readStatus(pid: number): Status | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in brackets and may hold anything; what follows are numbers.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11);
    return { parent, cpuMs: (user + system) * TICK_MS, pastChildrenMs: (childUser + childSystem) * TICK_MS };
  } catch {
    // It ended since it was listed.
    return null;
  }
}
