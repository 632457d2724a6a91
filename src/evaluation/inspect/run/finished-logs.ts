import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { hasErrorCode } from '../../../core/error-code';
import type { InspectLog } from '../log/read-log';
import { openInspectLog } from '../log/read-log';

const ATTEMPT = /^attempt-(\d+)$/;

/** Only what was finished without an error stands; of several the newest. What others left is removed. */
export async function findFinished(place: string): Promise<InspectLog | null> {
  for (const attempt of await attemptsIn(place)) {
    for (const log of await openLogs(path.join(place, attempt))) {
      if (log.header.status === 'success') return log;
      log.close();
    }
    await rm(path.join(place, attempt), { recursive: true, force: true });
  }
  return null;
}

/** A log that was torn when its writer died is none. */
export async function openLogs(folder: string): Promise<InspectLog[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.eval'));
  const opened = names.map((name) => openInspectLog(path.join(folder, name)).catch(() => null));
  return (await Promise.all(opened)).filter((log) => log !== null);
}

/** The newest first. */
async function attemptsIn(place: string): Promise<string[]> {
  const numberOf = (name: string) => Number(ATTEMPT.exec(name)?.[1] ?? 0);
  const attempts = (await namesIn(place)).filter((name) => ATTEMPT.test(name));
  return attempts.sort((left, right) => numberOf(right) - numberOf(left));
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  }
}
