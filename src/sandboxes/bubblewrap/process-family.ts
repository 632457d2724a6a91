import { readdirSync, readFileSync } from 'node:fs';
import { largestOf } from '../../core/extremes';
import { threadTime } from '../used-time';

/** The system counts processor time of processes in hundredths of a second. */
const TICK_MS = 10;

/** A process and all below it, as this machine numbers them. */
export function familyOf(pid: number): number[] {
  const family = [pid];
  for (const each of family) {
    for (const task of tasksOf(each)) {
      const children = readText(`/proc/${each}/task/${task}/children`).split(' ').filter(Boolean);
      family.push(...children.map(Number));
    }
  }
  return family;
}

/** Where the system tells of a process. One whose first thread has ended, and others have not, tells of itself in those. */
export function placeOf(pid: number): string {
  const place = `/proc/${pid}`;
  if (hasMemory(place)) return place;
  return (
    tasksOf(pid)
      .map((task) => `${place}/task/${task}`)
      .find(hasMemory) ?? place
  );
}

function hasMemory(place: string): boolean {
  return !/^(?:0 |$)/.test(readText(`${place}/statm`));
}

/** How long the one of a process's family that waited most for a processor has waited. */
export function starvedMsOf(pid: number): number {
  const threads = familyOf(pid).flatMap((each) => tasksOf(each).map((task) => threadTime(each, task)));
  return Math.max(0, largestOf(threads.map((time) => time?.starvedMs ?? 0)));
}

/** Processor time of a family, together with that of its dead. */
export function ranMsOf(pid: number): number {
  return familyOf(pid).reduce((sum, each) => sum + ranMsWithDead(each), 0);
}

/** Fields 14 to 17 of `/proc/<pid>/stat`: its own time and that of children it has waited for, in the program and in the system. */
function ranMsWithDead(pid: number): number {
  const stat = readText(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return Number.isFinite(ticks) ? ticks * TICK_MS : 0;
}

export function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Empty where there is none, or it is nobody's business. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
