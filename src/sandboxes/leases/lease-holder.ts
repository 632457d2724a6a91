import { readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { hasErrorCode } from '../../core/error-code';

/** Who holds a lease, so that another process can tell whether it still lives. */
export interface LeaseHolder {
  readonly pid: number;
  /** Start of the process in clock ticks, so that a pid that is used again is told apart; null where unknown. */
  readonly started: string | null;
  /** Where the pid means something: boot and pid namespace; null where unknown. */
  readonly place: string | null;
}

export function ownHolder(): LeaseHolder {
  return { pid: process.pid, started: startOf(process.pid), place: ownPlace() };
}

/** As the last part of a file's name, after a dot. */
export function nameOfHolder(holder: LeaseHolder): string {
  return Buffer.from(JSON.stringify(holder)).toString('base64url');
}

/** Null where the file's name does not end in a `nameOfHolder`. */
export function holderNamed(fileName: string): LeaseHolder | null {
  return holderIn(Buffer.from(path.extname(fileName).slice(1), 'base64url').toString());
}

/** Null where the text is not of a holder: one that was torn, or somebody else's. */
export function holderIn(text: string): LeaseHolder | null {
  try {
    const value: unknown = JSON.parse(text);
    return isHolder(value) ? value : null;
  } catch {
    return null;
  }
}

function isHolder(value: unknown): value is LeaseHolder {
  return typeof value === 'object' && value !== null && 'pid' in value && typeof value.pid === 'number';
}

/** Null where this process cannot tell: another machine, or another container on a shared folder. */
export function isHolderAlive(holder: LeaseHolder): boolean | null {
  if (holder.place !== ownPlace()) return null;
  if (holder.started !== null) return startOf(holder.pid) === holder.started;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    return hasErrorCode(error, 'EPERM');
  }
}

function ownPlace(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

/** The 22nd field of `/proc/<pid>/stat`; a dead child that nobody has waited for has ended too. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
