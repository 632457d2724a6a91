import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../config/environment';
import { childVariables } from '../config/environment';
import { DomainError } from '../core/errors';
import { describeLog, fileSize } from './last-lines';
import { requireOwnParts } from './own-parts';
import { findLockHolder } from './pid-lock';
import { sendSignal } from './process-identity';
import { LAUNCHER, openLog } from './processes';
import { SILENT_PROGRESS } from './progress';
import type { Progress } from './progress';
import { tellSeldom } from './seldom';
import { addClient, findStack, listClients, stackPlaces } from './stack-record';
import type { StackRecord } from './stack-record';
import { hasSupervisor, waitForSupervisor, waitWhileStarting } from './starting-stack';
import type { StartingOptions } from './starting-stack';
import { binaryLookup, obtainTemporalBinary } from './temporal-binary';
import type { BinarySource } from './temporal-binary-sources';
import { shownByHolder } from './wait-for-lock';

export interface UseStackOptions {
  readonly environment: Environment;
  /** What needs the stack, for people who look, e.g. `train my-run`. */
  readonly purpose: string;
  readonly progress: Progress;
  /** Ends the wait: what is being fetched is given up, and a stack that was begun ends. */
  readonly signal?: AbortSignal | undefined;
  readonly startLimitMs?: number;
  readonly launcher?: string;
  readonly binarySources?: readonly BinarySource[];
}

export interface StackUse {
  readonly stack: StackRecord;
  /** Says that the stack is no longer needed; one that was started for commands stops when nobody needs it. */
  release(): Promise<void>;
}

const WATCH_MS = 1000;
const STACK_LOG = 'dev';

/**
 * A running stack for as long as a command needs one: the stack recorded in the data folder, or else one started
 * for it, which all commands on that folder share and which stops by itself after the last of them.
 *
 * Nothing is left behind however the command ends: the supervisor looks whether its clients live. While the stack
 * is used, a supervisor that dies is replaced, on the same ports where they are free.
 */
export async function useStack(options: UseStackOptions): Promise<StackUse> {
  const { dataFolder } = options.environment;
  requireOwnParts(dataFolder);
  const removeClient = addClient(dataFolder, options.purpose);
  process.once('exit', removeClient);
  const forget = (): void => {
    process.removeListener('exit', removeClient);
    removeClient();
  };
  try {
    const stack = await findOrStart(options);
    const watch = watchStack(options);
    return {
      stack,
      release: async () => {
        await watch.end();
        forget();
        if (options.signal?.aborted === true) endIdle(dataFolder);
      },
    };
  } catch (error) {
    forget();
    throw error;
  }
}

async function findOrStart(options: UseStackOptions): Promise<StackRecord> {
  const { dataFolder } = options.environment;
  for (;;) {
    options.signal?.throwIfAborted();
    const stack = findStack(dataFolder);
    if (stack !== null) return stack;
    if (hasSupervisor(dataFolder)) await waitForOthers(options);
    else await startOwn(options);
  }
}

async function waitForOthers(options: UseStackOptions): Promise<void> {
  const { dataFolder } = options.environment;
  const isInTime = await waitForSupervisor(dataFolder, startingOptions(options));
  if (!isInTime) throw notReady(dataFolder);
}

async function startOwn(options: UseStackOptions): Promise<void> {
  const started = await startStack(options);
  try {
    await untilDecided(started, options);
  } catch (error) {
    endUnused(started);
    throw error;
  }
}

function startingOptions({ progress, signal, startLimitMs }: UseStackOptions): StartingOptions {
  return { progress, signal, ...(startLimitMs !== undefined && { limitMs: startLimitMs }) };
}

/** Waits until there is a stack, ours or that of another command that was faster, for whose sake ours has ended. */
async function untilDecided(started: StartedStack, options: UseStackOptions): Promise<void> {
  const { child, dataFolder } = started;
  const isInTime = await waitWhileStarting(dataFolder, {
    ...startingOptions(options),
    name: 'Starting the embedded stack',
    isOver: () => hasEnded(child),
  });
  if (!isInTime) throw failure(started, `is not ready${unreadyParts(dataFolder)}`);
  if (hasEnded(child) && child.exitCode !== 0 && !hasSupervisor(dataFolder)) throw ended(started);
}

interface StartedStack {
  readonly child: ChildProcess;
  readonly dataFolder: string;
  readonly log: string;
  /** Where in the log what this one writes begins. */
  readonly logStart: number;
}

async function startStack(options: UseStackOptions): Promise<StartedStack> {
  const { environment, progress, signal, launcher = LAUNCHER } = options;
  const { dataFolder, store } = environment;
  // Obtained here, where a person sees how and how long; the supervisor has only a log.
  const sources = options.binarySources;
  const lookup = { ...binaryLookup(environment, progress), ...(sources !== undefined && { sources }) };
  const binary = await obtainTemporalBinary(lookup, signal);
  progress.note(`Starting an embedded stack in ${dataFolder} (Temporal CLI: ${binary.source}).`);
  const { logs } = stackPlaces(dataFolder);
  const output = openLog(logs, STACK_LOG);
  try {
    const log = path.join(logs, `${STACK_LOG}.log`);
    const logStart = fileSize(log);
    const places = ['--data-dir', dataFolder, '--store', store];
    const child = spawn(process.execPath, [launcher, 'dev', '--until-idle', ...places], {
      detached: true,
      stdio: ['ignore', output, output],
      env: childVariables({ EVERSTEP_TEMPORAL_CLI: binary.path, EVERSTEP_NO_BUILD: '1' }),
    });
    child.unref();
    return { child, dataFolder, log, logStart };
  } finally {
    closeSync(output);
  }
}

/** A stack that nobody else waits for ends now, and not when it would find out by itself. */
function endUnused({ child, dataFolder }: StartedStack): void {
  const others = listClients(dataFolder).filter((client) => client.pid !== process.pid);
  if (others.length === 0 && !hasEnded(child)) child.kill('SIGTERM');
}

/** Whoever interrupted a command wants its work to end: what works for nobody else does not wait for a next command. */
function endIdle(dataFolder: string): void {
  const stack = findStack(dataFolder);
  if (stack?.kind === 'until-idle' && listClients(dataFolder).length === 0) sendSignal(stack.pid, 'SIGTERM');
}

interface Watch {
  end(): Promise<void>;
}

function watchStack(options: UseStackOptions): Watch {
  const { dataFolder } = options.environment;
  let repair: Promise<unknown> | null = null;
  const tellGone = tellSeldom(options.progress.note);
  const tellFailure = tellSeldom(options.progress.note);
  const timer = setInterval(() => {
    if (repair !== null || findStack(dataFolder) !== null) return;
    // What the command shows at this moment stays in its place.
    const progress = { ...SILENT_PROGRESS, note: options.progress.note };
    tellGone('The stack has gone; starting it again.');
    repair = findOrStart({ ...options, progress })
      .catch((error: unknown) => {
        if (options.signal?.aborted !== true)
          tellFailure(error instanceof Error ? error.message : String(error));
      })
      .finally(() => {
        repair = null;
      });
  }, WATCH_MS);
  timer.unref();
  return {
    end: async () => {
      clearInterval(timer);
      await repair;
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function ended(started: StartedStack): DomainError {
  const { exitCode, signalCode } = started.child;
  return failure(
    started,
    `did not start: its process ended (${signalCode ?? `exit code ${exitCode ?? 'unknown'}`})`,
  );
}

function failure({ dataFolder, log, logStart }: StartedStack, what: string): DomainError {
  return new DomainError(
    'temporal-unavailable',
    `The embedded stack in ${dataFolder} ${what}. ${describeLog(log, logStart)}`,
  );
}

function notReady(dataFolder: string): DomainError {
  const holder = findLockHolder(stackPlaces(dataFolder).lock);
  return new DomainError(
    'temporal-unavailable',
    `The stack in ${dataFolder} that process ${holder?.pid ?? 'unknown'} starts is not ready${unreadyParts(dataFolder)}. ` +
      `Its logs are in ${stackPlaces(dataFolder).logs}.`,
  );
}

function unreadyParts(dataFolder: string): string {
  const shown = shownByHolder(stackPlaces(dataFolder).lock);
  return shown === '' ? '' : ` (${shown})`;
}
