import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { InspectTask } from '../../../core/benchmark-run';
import { DomainError } from '../../../core/errors';
import { taskFileOf } from '../task-source';
import type { InspectAccess } from './inspect-access';
import { refusalIn, runInspect } from './inspect-process';
import { withoutSecrets } from './passed-variables';
import { findInspectEnvironment, inspectHome } from './python-environment';

const LIMIT_MS = 120_000;

/**
 * Refuses a task that its file does not have, and arguments that the task does not have, before anything is begun that they would be
 * part of. What else may be wrong with a task is told when it runs.
 */
export async function checkTask(access: InspectAccess, asked: InspectTask): Promise<void> {
  access.requirePermission(asked);
  const { task, args } = asked;
  if (Object.keys(args).length === 0 && taskFileOf(task) === null) return;
  const { python, variables } = await findInspectEnvironment(access.cacheFolder);
  const passed = access.readVariables(variables);
  const home = inspectHome(access.cacheFolder);
  const work = await mkdtemp(path.join(tmpdir(), 'everstep-inspect-'));
  try {
    await mkdir(home, { recursive: true });
    await writeFile(path.join(work, '.env'), '');
    const config = path.join(work, 'task.json');
    await writeFile(config, JSON.stringify(args));
    const end = await runInspect({
      python,
      words: ['--check', config, task],
      folder: work,
      variables: { ...access.variables, HOME: home, ...passed, PYTHONDONTWRITEBYTECODE: '1' },
      signal: new AbortController().signal,
      timeoutMs: LIMIT_MS,
    });
    const refusal = refusalIn(end);
    if (refusal !== null) throw new DomainError('bad-config', withoutSecrets(refusal, passed));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
