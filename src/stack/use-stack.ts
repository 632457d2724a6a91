import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../config/environment';
import { childVariables } from '../config/environment';
import { DomainError } from '../core/errors';
import { LAUNCHER, lastLines, openLog } from './processes';
import { binaryLookup } from './stack';
import { addClient, findStack, stackPlaces } from './stack-record';
import type { StackRecord } from './stack-record';
import { hasSupervisor, waitForStartingStack } from './starting-stack';
import { obtainTemporalBinary } from './temporal-binary';

export interface UseStackOptions {
  readonly environment: Environment;
  /** What needs the stack, for people who look, e.g. `train my-run`. */
  readonly purpose: string;
  readonly onProgress: (line: string) => void;
}

export interface StackUse {
  readonly stack: StackRecord;
  /** Says that the stack is no longer needed; one that was started for commands stops when nobody needs it. */
  release(): Promise<void>;
}

const START_LIMIT_MS = 120_000;
const POLL_MS = 100;
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
      },
    };
  } catch (error) {
    forget();
    throw error;
  }
}

async function findOrStart(options: UseStackOptions): Promise<StackRecord> {
  const { dataFolder } = options.environment;
  await waitForStartingStack(dataFolder, options.onProgress, 0);
  const deadline = performance.now() + START_LIMIT_MS;
  let started: ChildProcess | null = null;
  while (performance.now() < deadline) {
    const stack = findStack(dataFolder);
    if (stack !== null) return stack;
    if (started !== null && hasEnded(started) && started.exitCode !== 0 && !hasSupervisor(dataFolder)) {
      throw startFailure(dataFolder);
    }
    if (!hasSupervisor(dataFolder) && (started === null || hasEnded(started)))
      started = await startStack(options);
    await delay(POLL_MS);
  }
  throw startFailure(dataFolder);
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function startStack({ environment, onProgress }: UseStackOptions): Promise<ChildProcess> {
  // Obtained here, where a person sees how and how long; the supervisor has only a log.
  const binary = await obtainTemporalBinary(binaryLookup(environment, onProgress));
  onProgress(`Starting an embedded stack in ${environment.dataFolder} (Temporal CLI: ${binary.source}).`);
  const log = openLog(stackPlaces(environment.dataFolder).logs, STACK_LOG);
  try {
    const places = ['--data-dir', environment.dataFolder, '--store', environment.store];
    const child = spawn(process.execPath, [LAUNCHER, 'dev', '--until-idle', ...places], {
      detached: true,
      stdio: ['ignore', log, log],
      env: childVariables({ EVERSTEP_TEMPORAL_CLI: binary.path, EVERSTEP_NO_BUILD: '1' }),
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

interface Watch {
  end(): Promise<void>;
}

function watchStack(options: UseStackOptions): Watch {
  const { dataFolder } = options.environment;
  let repair: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    if (repair !== null || findStack(dataFolder) !== null) return;
    options.onProgress('The stack has gone; starting it again.');
    repair = findOrStart(options)
      .catch((error: unknown) => {
        options.onProgress(error instanceof Error ? error.message : String(error));
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

function startFailure(dataFolder: string): DomainError {
  const log = path.join(stackPlaces(dataFolder).logs, `${STACK_LOG}.log`);
  return new DomainError(
    'temporal-unavailable',
    `The embedded stack in ${dataFolder} did not start. Its log, ${log}, ends with:\n${lastLines(log)}`,
  );
}
