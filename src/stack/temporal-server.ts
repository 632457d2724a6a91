import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { childVariables } from '../config/environment';
import { DEFAULT_NAMESPACE } from '../config/temporal-connection';
import { DomainError } from '../core/errors';
import { isDamageComplaint, remedyForDamage, requireSoundDatabase } from './database-damage';
import { takePidLock } from './pid-lock';
import type { LockHolder, PidLock } from './pid-lock';
import { isPortFree } from './free-port';
import { identifyProcess, isRunning, sendSignal, waitForExit } from './process-identity';
import { watchForStuckDatabase } from './stuck-database';
import { probeTemporal, waitUntilServing } from './temporal-probe';
import { tiedToUs } from './tied-process';

/** The search attributes of every run; the server has them before the first workflow starts. */
export const SEARCH_ATTRIBUTES = {
  EverstepKind: 'Keyword',
  EverstepRun: 'Keyword',
  EverstepModel: 'Keyword',
  EverstepStep: 'Int',
  EverstepStatus: 'Keyword',
  EverstepScore: 'Double',
} as const;

export interface TemporalServerOptions {
  readonly binary: string;
  readonly port: number;
  /** null means without the web page. */
  readonly uiPort: number | null;
  /** null keeps everything in memory. */
  readonly databaseFile: string | null;
  /** `full` also survives a power cut, at about twice the cost of a step. */
  readonly durability?: 'normal' | 'full';
}

export interface TemporalServer {
  readonly address: string;
  readonly uiUrl: string | null;
  readonly pid: number;
  /** Resolves when the server has ended, wanted or not, with how it ended. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** A server that lives gets on with its start, however slowly where others have the processor; one that is begun anew does it all again. */
const START_LIMIT_MS = 10 * 60_000;
const STOP_LIMIT_MS = 10_000;
/** How long a port may stay busy with a server that is just ending. */
const PORT_WAIT_MS = 3000;

/**
 * Starts the embedded server and waits until it serves the namespace.
 *
 * One database file never has two servers: a lock beside it names the process in charge. What a dead process
 * left running is stopped first; the file survives that, as it survives kill -9.
 */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  const lock = options.databaseFile === null ? null : await lockDatabase(options.databaseFile);
  try {
    if (options.databaseFile !== null) await requireSoundDatabase(options.databaseFile);
    await requireFreePort(options.port);
    return await launch(options, lock);
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** Where the lock of a database is; `doctor` looks at it. */
export function databaseLock(databaseFile: string): string {
  return `${databaseFile}.lock`;
}

async function lockDatabase(databaseFile: string): Promise<PidLock> {
  mkdirSync(path.dirname(databaseFile), { recursive: true });
  const attempt = await takePidLock(databaseLock(databaseFile), { onStale: stopLeftover });
  if ('lock' in attempt) return attempt.lock;
  throw new DomainError(
    'temporal-unavailable',
    `Process ${attempt.holder.pid} runs a Temporal server on ${databaseFile} (port ${attempt.holder.notes['port'] ?? 'unknown'}). ` +
      'Use that one, stop it, or choose another --data-dir.',
  );
}

async function stopLeftover(left: LockHolder): Promise<void> {
  const { serverPid, serverStartedAt } = left.notes;
  if (!left.isPlaced || typeof serverPid !== 'number' || serverStartedAt === undefined) return;
  const server = { pid: serverPid, startedAt: String(serverStartedAt) };
  if (!isRunning(server)) return;
  sendSignal(server.pid, 'SIGTERM');
  if (await waitForExit(server, PORT_WAIT_MS)) return;
  sendSignal(server.pid, 'SIGKILL');
  await waitForExit(server, PORT_WAIT_MS);
}

async function requireFreePort(port: number): Promise<void> {
  const deadline = performance.now() + PORT_WAIT_MS;
  while (!(await isPortFree(port))) {
    if (performance.now() > deadline) {
      throw new DomainError('temporal-unavailable', `Port ${port} is in use. Choose another with --port.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function launch(options: TemporalServerOptions, lock: PidLock | null): Promise<TemporalServer> {
  const address = `127.0.0.1:${options.port}`;
  const child = spawnTiedToUs(options.binary, serverArguments(options));
  const ended = whenEnded(child, options.databaseFile).finally(() => lock?.release());
  const isListening = listening(child, options.port);
  const identity = identifyProcess(child.pid ?? -1);
  if (identity !== null) {
    lock?.note({ port: options.port, serverPid: identity.pid, serverStartedAt: identity.startedAt });
  }
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await ended;
    clearTimeout(timer);
  };
  try {
    let end: string | null = null;
    void ended.then((how) => (end = how));
    await waitUntilServing(
      { address, namespace: DEFAULT_NAMESPACE },
      {
        timeoutMs: START_LIMIT_MS,
        attributes: Object.keys(SEARCH_ATTRIBUTES),
        isListening,
        isGone: () => (end === null ? null : `The Temporal server ended while starting: ${end}.`),
      },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  endWhereStuck(child, address);
  const uiUrl = options.uiPort === null ? null : `http://127.0.0.1:${options.uiPort}`;
  return { address, uiUrl, pid: child.pid ?? -1, ended, stop };
}

/** The next start on the same database stops a server that outlives us all the same. */
function spawnTiedToUs(binary: string, args: readonly string[]): ChildProcess {
  const variables = childVariables({});
  const tied = tiedToUs(binary, args, { signal: 'TERM', searchPath: variables['PATH'] ?? '' });
  return spawn(tied.program, tied.args, { stdio: ['ignore', 'pipe', 'pipe'], env: variables });
}

/**
 * Whether our own process listens: it prints its address once the port is its own and it has started; one that lost
 * the port to another server since it was looked at dies before, and the other one would answer in its place.
 */
function listening(child: ChildProcess, port: number): () => boolean {
  const line = new RegExp(`^Server:.*:${port}\\s*$`, 'm');
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (!line.test(printed)) printed = (printed + text).slice(-1000);
  });
  return () => line.test(printed);
}

/** A server whose database answers nothing any more lives on and serves nobody; who supervises it starts it again. */
function endWhereStuck(child: ChildProcess, address: string): void {
  const heed = watchForStuckDatabase({
    look: () =>
      probeTemporal({ address, namespace: DEFAULT_NAMESPACE }).then(
        ({ namespaceExists }) => namespaceExists,
        () => false,
      ),
    onStuck: () => {
      process.stderr.write(
        'The database of the Temporal server answers nothing any more: the server is ended.\n',
      );
      child.kill('SIGKILL');
    },
  });
  child.stderr?.on('data', (text: string) => {
    heed(text);
  });
}

/** A server whose database turns out to be damaged would answer no question about its runs, and end by itself never. */
function whenEnded(child: ChildProcess, databaseFile: string | null): Promise<string> {
  let complaint = '';
  let remedy = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    process.stderr.write(text);
    complaint = (complaint + text).slice(-500);
    if (databaseFile === null || remedy !== '' || !isDamageComplaint(complaint)) return;
    remedy = ` Its database is damaged. ${remedyForDamage(databaseFile)}`;
    child.kill('SIGTERM');
  });
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve(error.message);
    });
    child.once('close', (code, signal) => {
      resolve(
        `${signal ?? `exit code ${code ?? 'unknown'}`}${complaint === '' ? '' : `, ${complaint.trim()}`}${remedy}`,
      );
    });
  });
}

/**
 * The poll rates matter: with the server's defaults (20 polls a second and shard, one shard) a serial activity
 * waits up to 100 ms in hand-overs; with these it takes about 10. A workflow whose task is under way keeps one question unless
 * told otherwise; a second one that is asked then is refused, and asked again after more than a second.
 *
 * The server has an HTTP interface on a port of its own, which cannot be switched off and takes requests of any web page in the
 * person's browser: it could start workflows. It answers hosts of one name alone, which nobody knows and no resolver finds.
 */
function serverArguments(options: TemporalServerOptions): string[] {
  const { port, uiPort, databaseFile, durability = 'normal' } = options;
  const settings = {
    'history.transferProcessorMaxPollRPS': 2000,
    'history.timerProcessorMaxPollRPS': 2000,
    'history.transferProcessorMaxPollHostRPS': 4000,
    'history.timerProcessorMaxPollHostRPS': 4000,
    'history.MaxBufferedQueryCount': 1000,
    'frontend.httpAllowedHosts': [`${randomBytes(16).toString('hex')}.invalid`],
  };
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'],
    ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...['--namespace', DEFAULT_NAMESPACE],
    ...(databaseFile === null
      ? []
      : [
          '--db-filename',
          databaseFile,
          '--sqlite-pragma',
          'journal_mode=wal',
          '--sqlite-pragma',
          `synchronous=${durability}`,
        ]),
    ...Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
    ...Object.entries(settings).flatMap(([name, value]) => [
      '--dynamic-config-value',
      `${name}=${JSON.stringify(value)}`,
    ]),
  ];
}
