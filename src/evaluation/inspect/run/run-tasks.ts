import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { InspectTask } from '../../../core/benchmark-run';
import { DomainError } from '../../../core/errors';
import { digestOf } from '../../digest';
import { isWithoutScore } from '../log/log-metrics';
import type { InspectLog } from '../log/read-log';
import { findFinished, openLogs } from './finished-logs';
import type { InspectAccess, ModelServer } from './inspect-access';
import type { InspectEnd, SampleCount } from './inspect-process';
import { refusalIn, runInspect } from './inspect-process';
import type { InspectSettings } from './inspect-words';
import { wordsFor } from './inspect-words';
import { withoutSecrets } from './passed-variables';
import type { InspectEnvironment } from './python-environment';
import { findInspectEnvironment, inspectHome } from './python-environment';

export interface TaskRun {
  readonly access: InspectAccess;
  readonly server: ModelServer;
  readonly model: string;
  readonly settings: InspectSettings;
  /** Logs go here: a folder a task and, in it, one an attempt. */
  readonly folder: string;
  /** What the weights are: logs of other weights are not taken. */
  readonly identity: string;
  readonly epoch: number;
  readonly signal: AbortSignal;
  readonly onSamples?: (count: SampleCount) => void;
}

/** Of one whose process somebody else kills, as the system does that has no memory left. */
const ATTEMPTS = 3;
const ERROR_CHARACTERS = 300;
const TOLD_CHARACTERS = 600;
/** How Python begins the last part of a traceback. */
const ERROR_LINE = /^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?::|$)/;

/**
 * Runs one task and opens its log, which is the caller's to close. A log that an earlier attempt finished is taken as it is; what another one
 * left unfinished is run again, and finds its answers in the journal of the model that is served. So is what was killed from outside.
 */
export async function runTask(task: InspectTask, run: TaskRun): Promise<InspectLog> {
  const place = path.join(run.folder, digestOf([task, run.settings, run.model, run.identity]).slice(0, 16));
  const finished = await findFinished(place);
  if (finished) return finished;
  run.access.requirePermission(task);
  const environment = await findInspectEnvironment(run.access.cacheFolder);
  const passed = run.access.readVariables(environment.variables);
  const logs = path.join(place, `attempt-${run.epoch}`);
  const end = await evaluate({ task, run, environment, passed, logs });
  const refusal = refusalIn(end);
  if (refusal !== null) throw new DomainError('bad-config', withoutSecrets(refusal, passed));
  const [log] = await openLogs(logs);
  const problem = await problemOf(log, end);
  if (log && problem === null) return log;
  log?.close();
  const told = withoutSecrets(problem ?? '', passed);
  const where = log ? ` Its log is ${log.path}` : '';
  throw new DomainError(
    'bad-plugin',
    `Inspect's task ${task.task} failed: ${asSentence(told)}${hintFor(told)}${where}`,
  );
}

interface Evaluation {
  readonly task: InspectTask;
  readonly run: TaskRun;
  readonly environment: InspectEnvironment;
  /** What a person lets tasks have of the worker's variables. */
  readonly passed: Readonly<Record<string, string>>;
  readonly logs: string;
}

async function evaluate(evaluation: Evaluation): Promise<InspectEnd> {
  for (let attempt = 1; ; attempt++) {
    const end = await evaluateOnce(evaluation);
    if (end.killedBy === null || attempt === ATTEMPTS) return end;
    await rm(evaluation.logs, { recursive: true, force: true });
  }
}

async function evaluateOnce({ task, run, environment, passed, logs }: Evaluation): Promise<InspectEnd> {
  const { access, server, settings, signal, onSamples } = run;
  const home = inspectHome(access.cacheFolder);
  const work = await mkdtemp(path.join(tmpdir(), 'everstep-inspect-'));
  try {
    await mkdir(home, { recursive: true });
    await mkdir(logs, { recursive: true });
    // Inspect reads the first `.env` on the way up from where it is, and ours may hold keys.
    await writeFile(path.join(work, '.env'), '');
    const config = path.join(work, 'task.json');
    await writeFile(config, JSON.stringify(task.args));
    return await runInspect({
      python: environment.python,
      words: wordsFor(task, run, { logs, config }),
      folder: work,
      variables: {
        ...access.variables,
        HOME: home,
        ...passed,
        PYTHONDONTWRITEBYTECODE: '1',
        EVERSTEP_BASE_URL: server.url,
        EVERSTEP_API_KEY: server.token,
      },
      signal,
      timeoutMs: settings.timeoutSeconds * 1000,
      ...(onSamples && { onSamples }),
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Why there is no result; null where there is one. */
async function problemOf(log: InspectLog | undefined, { code, killedBy, tail }: InspectEnd) {
  if (log?.header.status === 'success') return problemOfResult(log);
  if (killedBy !== null)
    return `its process was killed ${ATTEMPTS} times (${killedBy}); is there memory enough?`;
  if (!log) return `Inspect made no log and ended with ${String(code)}: ${lastWords(tail)}`;
  const { status, error } = log.header;
  return `its log says ${status}${error ? `: ${error.message}` : ''}`;
}

async function problemOfResult(log: InspectLog): Promise<string | null> {
  if ((log.header.results?.completed_samples ?? 0) === 0) {
    const reason = await firstError(log);
    return `none of its samples could be scored${reason === null ? '' : `. The first says: ${reason}`}`;
  }
  if (!isWithoutScore(log.header)) return null;
  return (log.header.results?.scores.length ?? 0) === 0
    ? 'it has no scorer, and so no score'
    : 'its scorer left every sample unscored, or has no metric';
}

async function firstError(log: InspectLog): Promise<string | null> {
  for await (const { error } of log.samples()) if (error) return lastOf(error.message);
  return null;
}

/** What a service answered stands behind all that it was asked, after an empty line. */
function lastOf(message: string): string {
  const parts = message.split(/(?:(?<!\\)\\+n|\n){2,}/).filter((part) => part.trim() !== '');
  const text = (parts.at(-1) ?? '').replace(/((?<!\\)\\+n|\s)+/g, ' ').replaceAll(/(?<!\\)\\+'/g, "'");
  return text.trim().slice(-ERROR_CHARACTERS);
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Where a key seems to be missing, what is to be done is not what Inspect says: it knows nothing of us. */
function hintFor(problem: string): string {
  return KEY_WORDS.test(problem)
    ? ' A variable of yours reaches tasks when you name it: everstep inspect setup --pass NAME, on the machine of the worker, whose environment has it.'
    : '';
}

const KEY_WORDS = /_API_KEY|_TOKEN\b|api key|gated|unauthori[sz]ed|\b401\b|environment variable/i;

/** The error that ended it comes last, after the places it went through. */
export function lastWords(tail: string): string {
  const lines = tail
    .split('\n')
    .map((line) => line.replace(/[│╭╮╰╯─❱]/g, ' ').trim())
    .filter((line) => !/^[\^~\s]*$/.test(line));
  const error = lines.findLastIndex((line) => ERROR_LINE.test(line));
  return lines
    .slice(error < 0 ? -4 : error)
    .join(' ')
    .slice(error < 0 ? -TOLD_CHARACTERS : 0, error < 0 ? undefined : TOLD_CHARACTERS);
}
