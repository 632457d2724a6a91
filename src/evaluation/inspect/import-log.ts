import { existsSync } from 'node:fs';
import path from 'node:path';
import { DomainError } from '../../core/errors';
import type { ResultIdentity, StoredResult } from '../../stores/eval-store';
import { digestOf } from '../digest';
import { isWithoutScore } from './log/log-metrics';
import type { LogHeader } from './log/log-schema';
import { openInspectLog } from './log/read-log';
import { writeLogResults } from './log/write-log-results';
import { shortTaskName } from './task-name';

/** Reads a log that somebody made as a result in `<output>/<task>`. A log of an evaluation that failed or goes on is refused. */
export async function importInspectLog(file: string, output: string): Promise<StoredResult> {
  const log = await openInspectLog(file);
  try {
    requireFinished(file, log.header);
    const name = shortTaskName(log.header.eval.task);
    const folder = path.join(output, name);
    if (existsSync(path.join(folder, 'result.json'))) {
      throw new DomainError('bad-config', `${folder} has a result already. Give another --output.`);
    }
    return await writeLogResults(log, { name, folder, identity: identityOf(log.header) });
  } finally {
    log.close();
  }
}

function requireFinished(file: string, header: LogHeader): void {
  const { status, error } = header;
  if (status !== 'success') {
    const reason = error ? ` (${error.message.slice(0, 300)})` : '';
    throw new DomainError(
      'bad-dataset',
      `${file}: its status is ${status}${reason}. Finish it first: inspect eval-retry`,
    );
  }
  if (isWithoutScore(header))
    throw new DomainError('bad-dataset', `${file}: it has no score. Give it one first: inspect score`);
}

/** What two logs have to agree in to be compared, as far as a log says it. */
function identityOf({ eval: spec }: LogHeader): ResultIdentity {
  const { task, task_args: args, dataset, packages, task_version: version } = spec;
  return {
    benchmarkVersion: typeof version === 'number' ? version : 0,
    dataHash: digestOf([dataset.name ?? null, dataset.samples ?? null, task, args ?? null]),
    promptHash: digestOf(['inspect', task]),
    graderVersion: `inspect:${task}`,
    sampling: { inspect: packages?.['inspect_ai'] ?? 'unknown' },
    model: spec.model,
    checkpoint: '',
  };
}
