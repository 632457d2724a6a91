import path from 'node:path';
import type { PythonEnvironment } from './environments';
import { cleanEnvironment, runProgram } from './processes';
import type { CheckResult, ClientResult } from './results';
import { failed, readCheck } from './results';

const SCRIPTS = path.join(__dirname, 'python');
const TIMEOUT_MS = 10 * 60_000;

export interface ScriptRun {
  readonly environment: PythonEnvironment;
  readonly script: string;
  readonly args: readonly string[];
  /** Where it runs, and its home: no settings, keys or models of the person's are seen. */
  readonly folder: string;
  readonly engineUrl: string;
  readonly onCheck: (check: CheckResult) => void;
}

/** A whole session of the unmodified official SDK. */
export async function runSdk(
  options: Omit<ScriptRun, 'script' | 'args'>,
  only?: string,
): Promise<ClientResult> {
  const checks = await runScript({ ...options, script: 'sdk.py', args: only === undefined ? [] : [only] });
  return { client: options.environment.name, checks };
}

/** Runs one of our Python scripts; one that ends badly is a failed check of its own. */
export async function runScript(run: ScriptRun): Promise<CheckResult[]> {
  const checks: CheckResult[] = [];
  const note = (check: CheckResult): void => {
    checks.push(check);
    run.onCheck(check);
  };
  const ended = await runProgram([run.environment.python, path.join(SCRIPTS, run.script), ...run.args], {
    folder: run.folder,
    environment: cleanEnvironment({
      HOME: run.folder,
      HF_HUB_OFFLINE: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      TINKER_API_KEY: 'tml-local',
      TINKER_BASE_URL: run.engineUrl,
      TOKENIZERS_PARALLELISM: 'false',
    }),
    timeoutMs: TIMEOUT_MS,
    onLine: (line) => {
      note(readCheck(line));
    },
  });
  if (ended.code !== 0 && !checks.some(({ status }) => status === 'failed'))
    note(failed(`${run.script} ends`, `exit ${String(ended.code)}: ${ended.stderr.slice(-600)}`));
  return checks;
}
