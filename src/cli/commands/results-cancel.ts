import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { CancelledEval } from '../../client/eval-cancel';
import { nothingUnderWay } from '../../client/eval-cancel';
import type { Environment } from '../../config/environment';
import { readEnvironment } from '../../config/environment';
import { DomainError } from '../../core/errors';
import { neighboursOf } from '../../stack/find-weights';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { findStack, stackPlaces } from '../../stack/stack-record';
import type { Session } from '../connect';
import { openForReading, openForWork } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';

export interface CancelFlags extends PlaceFlags {
  readonly benchmark?: readonly string[];
  readonly yes?: boolean;
}

/**
 * Calls off what is under way of an eval run. What is journalled stays, so that the command that began it can go on. Where no
 * server runs, a stack is started for it: an evaluation whose stack went with its command goes on with the next one.
 */
export async function cancelResults(run: string, flags: CancelFlags, output: Output): Promise<number> {
  await confirm(run, flags, output);
  const interrupts = catchInterrupts(output, 'Leaving; the evaluation is being cancelled.');
  try {
    const cancelled = await cancelWhereItRuns({ run, flags, output, signal: interrupts.signal });
    output.document(cancelled);
    const names = escapeControls(cancelled.benchmarks.join(', '));
    output.line(
      cancelled.hasEnded
        ? `Cancelled ${names} of eval run ${escapeControls(run)}. What was answered is kept: the command that began it goes on.`
        : `${names} of eval run ${escapeControls(run)} will be cancelled; it has not ended yet.`,
    );
    return cancelled.hasEnded ? EXIT.done : EXIT.interrupted;
  } finally {
    interrupts.dispose();
  }
}

interface Cancelling {
  readonly run: string;
  readonly flags: CancelFlags;
  readonly output: Output;
  readonly signal: AbortSignal;
}

type Place = (cancelling: Cancelling) => Promise<CancelledEval>;

/** Evaluations of the demo's runs go on with the demo's stack, wherever the command is given. */
async function cancelWhereItRuns(cancelling: Cancelling): Promise<CancelledEval> {
  const { run } = cancelling;
  const places = placesOf(readEnvironment(cancelling.flags));
  let problem: DomainError | null = null;
  for (const cancelThere of places) {
    try {
      return await cancelThere(cancelling);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'unknown-run') throw error;
      problem ??= error;
    }
  }
  throw problem ?? nothingUnderWay({ run, benchmarks: cancelling.flags.benchmark, open: [] });
}

/** Servers that may have it: those that run first, then those that would have to be started. */
function placesOf({ dataFolder, store }: Environment): Place[] {
  if (resolveTemporal(dataFolder).from === 'configuration') return [cancelAt(null)];
  const own = path.resolve(dataFolder);
  const folders = neighboursOf(own).filter((folder) => existsSync(stackPlaces(folder).database));
  const runs = (folder: string) => findStack(folder) !== null;
  const isOfStore = (folder: string) => folder === own || findStack(folder)?.store === store;
  return [
    ...folders.filter((folder) => runs(folder) && isOfStore(folder)).map(cancelAt),
    ...folders.filter((folder) => !runs(folder)).map(cancelOnceStarted),
  ];
}

function cancelAt(dataDir: string | null): Place {
  return async (cancelling) => {
    const flags = dataDir === null ? cancelling.flags : { ...cancelling.flags, dataDir };
    return cancelIn(await openForReading(flags), cancelling);
  };
}

function cancelOnceStarted(dataDir: string): Place {
  return async (cancelling) => {
    const { run, flags, output, signal } = cancelling;
    const { store } = readEnvironment(flags);
    const purpose = `results cancel ${run}`;
    const there = { ...flags, dataDir, store };
    return cancelIn(await openForWork({ flags: there, output, signal, detach: false, purpose }), cancelling);
  };
}

async function cancelIn(session: Session, { run, flags, signal }: Cancelling): Promise<CancelledEval> {
  try {
    return await session.everstep.evaluations.cancel(run, { benchmarks: flags.benchmark, signal });
  } finally {
    await session.close();
  }
}

async function confirm(run: string, { yes }: CancelFlags, output: Output): Promise<void> {
  if (yes) return;
  if (output.isJson || !process.stdin.isTTY || !process.stderr.isTTY) {
    throw new DomainError(
      'bad-config',
      `Cancelling eval run "${run}" is asked for without a terminal. Repeat it with --yes.`,
    );
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await prompt.question(
      `Cancel what is under way of eval run ${escapeControls(run)}? [y/N] `,
    );
    if (/^\s*y(es)?\s*$/i.test(answer)) return;
  } finally {
    prompt.close();
  }
  throw new DomainError('bad-config', `Eval run "${run}" was not cancelled.`);
}
