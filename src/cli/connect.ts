import { accessSync, constants, mkdirSync } from 'node:fs';
import { Everstep } from '../client/everstep';
import type { Environment } from '../config/environment';
import { isStoreSaid, readEnvironment } from '../config/environment';
import type { TemporalAddress } from '../config/temporal-connection';
import { DomainError } from '../core/errors';
import { waitForExit } from '../stack/process-identity';
import { fitLine, spacedProgress } from '../stack/progress';
import type { Progress } from '../stack/progress';
import { resolveTemporal, stackAddress } from '../stack/resolve-temporal';
import type { TemporalChoice } from '../stack/resolve-temporal';
import { listClients } from '../stack/stack-record';
import type { StackRecord } from '../stack/stack-record';
import { LONG_START_GRACE_MS, START_GRACE_MS, waitForStartingStack } from '../stack/starting-stack';
import { useStack } from '../stack/use-stack';
import type { Output } from './output';
import type { PlaceFlags } from './service-options';

/** A way to the runs, and how to leave it. */
export interface Session {
  readonly everstep: Everstep;
  readonly environment: Environment;
  /** The stack that does the work; null where a configured server does it, or nobody. */
  readonly stack: StackRecord | null;
  /** False where nothing is configured and no stack runs: only the store answers. */
  readonly hasServer: boolean;
  /** True where the stack goes when this command and its like have gone. */
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

const STACK_EXIT_LIMIT_MS = 20_000;
const NOTHING_YET: TemporalChoice = { from: 'nothing' };

/** For commands that ask: nothing is started, and without a server the store answers. */
export async function openForReading(flags: PlaceFlags): Promise<Session> {
  const environment = readEnvironment(flags);
  const choice = resolveTemporal(environment.dataFolder);
  const stack = choice.from === 'stack' ? choice.stack : null;
  const temporal = choice.from === 'nothing' ? null : choice.target;
  return createSession({ flags, environment, temporal, stack });
}

export interface FollowingOptions {
  readonly output: Output;
  /** Ends the wait for a stack. */
  readonly signal: AbortSignal;
  /** How long a stack is waited for that nobody is seen to start; null where what is stored says all there will be. */
  readonly graceMs: (session: Session) => Promise<number | null>;
}

/** For commands that follow work: nothing is started, but a stack that somebody is just starting is waited for. */
export async function openForFollowing(flags: PlaceFlags, options: FollowingOptions): Promise<Session> {
  const stored = await openForReading(flags);
  if (stored.hasServer) return stored;
  try {
    const graceMs = await options.graceMs(stored);
    if (graceMs !== null) {
      const signal = endedBy(options.signal);
      const progress = progressOn(options.output);
      await waitForStartingStack(stored.environment.dataFolder, { progress, signal, graceMs });
    }
  } finally {
    await stored.close();
  }
  return openForReading(flags);
}

export interface WorkingOptions {
  readonly flags: PlaceFlags;
  /** The stack must go on after this command. */
  readonly detach: boolean;
  readonly purpose: string;
  readonly output: Output;
  /** Ends the wait for a stack. */
  readonly signal: AbortSignal;
  readonly environment?: Environment;
  /** Use a stack of the data folder whatever server is configured. */
  readonly onlyStack?: boolean;
}

/** For commands whose work must be done: where no server is configured, a stack is found or started. */
export async function openForWork(options: WorkingOptions): Promise<Session> {
  const { flags, detach, purpose, output, signal, environment = readEnvironment(flags) } = options;
  const choice = options.onlyStack ? NOTHING_YET : resolveTemporal(environment.dataFolder);
  if (choice.from === 'configuration') {
    const session = await createSession({ flags, environment, temporal: choice.target, stack: null });
    output.note(
      `Temporal server: ${choice.target.address} (namespace ${choice.target.namespace}), as configured.`,
    );
    await warnOfMissingWorkers(session, output);
    return session;
  }
  const progress = progressOn(output);
  const stopWaiting = endedBy(signal);
  if (detach) await requireStayingStack(environment.dataFolder, { output, progress, signal: stopWaiting });
  makeFolders(environment);
  const use = await useStack({ environment, purpose, progress, signal: stopWaiting });
  const temporal = stackAddress(use.stack);
  output.note(
    `Stack in ${environment.dataFolder}: Temporal ${temporal.address}, engine ${use.stack.engineUrl}.`,
  );
  if (isStoreSaid(flags) && use.stack.store !== environment.store)
    output.note(
      `Its workers keep runs in ${use.stack.store}; this command was told of ${environment.store}.`,
    );
  return createSession({ flags, environment, temporal, stack: use.stack, release: () => use.release() });
}

/** The folders that a stack writes to are tried here, where what the system says reaches the person. */
function makeFolders({ dataFolder, store }: Environment): void {
  for (const folder of store.includes('://') ? [dataFolder] : [store, dataFolder]) {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK | constants.X_OK);
  }
}

function progressOn(output: Output): Progress {
  const note = (text: string): void => {
    output.note(text);
  };
  if (!output.isTerminal) return spacedProgress(note);
  const status = (text: string | null): void => {
    output.status(text === null ? null : fitLine(text, output.columns));
  };
  return { note, status };
}

/** What a wait that a person ends is told to be ended with. */
function endedBy(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const end = (): void => {
    controller.abort(
      new DomainError('interrupted', 'Interrupted before a stack was ready; nothing was begun.'),
    );
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return controller.signal;
}

async function requireStayingStack(
  dataFolder: string,
  {
    output,
    ...waiting
  }: { readonly output: Output; readonly progress: Progress; readonly signal: AbortSignal },
): Promise<void> {
  let stack = await waitForStartingStack(dataFolder, waiting);
  if (stack === null) {
    output.note(
      `No dev runs here yet: waiting ${LONG_START_GRACE_MS / 1000} s for one that is being started.`,
    );
    stack = await waitForStartingStack(dataFolder, {
      ...waiting,
      graceMs: LONG_START_GRACE_MS - START_GRACE_MS,
    });
  }
  if (stack?.kind === 'dev') return;
  const remedy = `Run \`${output.hint('dev')}\` in another terminal, or set TEMPORAL_ADDRESS.`;
  throw new DomainError(
    'bad-config',
    `What is asked for goes on after this command, and needs a stack that stays. ${remedy}`,
  );
}

interface SessionParts {
  readonly flags: PlaceFlags;
  readonly environment: Environment;
  readonly temporal: TemporalAddress | null;
  readonly stack: StackRecord | null;
  readonly release?: () => Promise<void>;
}

async function createSession(parts: SessionParts): Promise<Session> {
  const { flags, temporal, stack, release } = parts;
  // A stack writes where it was told to when it was started; a command that says nothing else reads there.
  const store = isStoreSaid(flags) ? parts.environment.store : (stack?.store ?? parts.environment.store);
  const environment = { ...parts.environment, store };
  const everstep = await Everstep.connect({
    ...{ temporal, store, dataFolder: environment.dataFolder },
    // Commands have looked before they started a stack, and printed their remarks.
    looksAtEndpoints: false,
  });
  return {
    everstep,
    environment,
    stack,
    hasServer: temporal !== null,
    isEmbedded: stack?.kind === 'until-idle',
    close: async () => {
      await everstep.close();
      await release?.();
      if (release && stack?.kind === 'until-idle') await waitUntilStopped(environment.dataFolder, stack);
    },
  };
}

/** An embedded stack goes when its last client has gone; the command that leaves last waits for it. */
async function waitUntilStopped(dataFolder: string, stack: StackRecord): Promise<void> {
  if (listClients(dataFolder).length === 0) await waitForExit(stack, STACK_EXIT_LIMIT_MS);
}

async function warnOfMissingWorkers({ everstep }: Session, output: Output): Promise<void> {
  const advice = await everstep.workerAdvice();
  if (advice !== null) output.note(advice);
}
