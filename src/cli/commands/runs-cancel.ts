import { createInterface } from 'node:readline/promises';
import type { RunHandle } from '../../client/run-handle';
import type { RunReport } from '../../client/run-report';
import { isClosed } from '../../client/run-report';
import { DomainError } from '../../core/errors';
import { openForReading, openForWork } from '../connect';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import type { Interrupts } from '../interrupts';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { statusDocument } from './runs-documents';

export interface CancelFlags extends PlaceFlags {
  readonly yes?: boolean;
  readonly reason?: string;
}

/** Asks whether it is meant; null where nobody can be asked. */
export type Ask = ((question: string) => Promise<boolean>) | null;

/** Cancels a run for good and waits until it is closed. Where no server runs, a stack is started for it. */
export async function cancelOneRun(run: string, flags: CancelFlags, output: Output): Promise<number> {
  const { hasServer } = await withSession(openForReading(flags), async (session) => {
    await confirmCancel(session.everstep.run(run), flags, isSomebodyThere(output) ? askOnTerminal : null);
    return session;
  });
  const interrupts = catchInterrupts(output, 'Leaving; the run is being cancelled.');
  try {
    const opening = hasServer
      ? openForReading(flags)
      : openForWork({ flags, output, detach: false, purpose: `cancel ${run}` });
    return await withSession(opening, (session) =>
      cancelAndWait(session.everstep.run(run), { flags, output, signal: interrupts.signal }),
    );
  } finally {
    interrupts.dispose();
  }
}

/** Refuses a run that nobody knows, that has ended or is of another server, and one whose cancelling is not meant. */
export async function confirmCancel(handle: RunHandle, { yes }: CancelFlags, ask: Ask): Promise<void> {
  const report = await handle.status();
  if (isClosed(report)) throw alreadyEnded(report);
  if (yes) return;
  if (ask === null) {
    throw new DomainError(
      'bad-config',
      `Cancelling run "${report.run}" cannot be undone. Repeat it with --yes.`,
    );
  }
  const where = `step ${report.step} of ${report.totalSteps || '?'}`;
  if (await ask(`Cancel run ${escapeControls(report.run)} at ${where}? It cannot go on afterwards. [y/N] `))
    return;
  throw new DomainError('bad-config', `Run "${report.run}" was not cancelled.`);
}

interface Cancelling {
  readonly flags: CancelFlags;
  readonly output: Output;
  readonly signal: Interrupts['signal'];
}

export async function cancelAndWait(
  handle: RunHandle,
  { flags, output, signal }: Cancelling,
): Promise<number> {
  const before = await handle.status();
  if (isClosed(before)) throw alreadyEnded(before);
  if (before.source === 'store') {
    throw new DomainError(
      'bad-config',
      `Run "${before.run}" cannot be cancelled. ${before.note ?? ''}`.trim(),
    );
  }
  await handle.cancel(flags.reason);
  if (before.note !== null) output.note(before.note);
  const report = await handle.result({ signal });
  output.document(statusDocument(report, await handle.scores()));
  if (!isClosed(report)) {
    output.note(`Run ${report.run} will be cancelled; it has not closed yet.`);
    return EXIT.interrupted;
  }
  output.line(`Run ${report.run} ${report.status} at step ${report.step} of ${report.totalSteps || '?'}.`);
  return report.status === 'cancelled' ? EXIT.done : EXIT.failed;
}

function alreadyEnded({ run, status, step, totalSteps }: RunReport): DomainError {
  return new DomainError(
    'bad-config',
    `Run "${run}" has ended already (${status} at step ${step} of ${totalSteps}): there is nothing to cancel.`,
  );
}

function isSomebodyThere({ isJson }: Output): boolean {
  return !isJson && process.stdin.isTTY && process.stderr.isTTY;
}

async function askOnTerminal(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await prompt.question(question));
  } finally {
    prompt.close();
  }
}

async function withSession<Result>(
  opening: Promise<Session>,
  use: (session: Session) => Promise<Result>,
): Promise<Result> {
  const session = await opening;
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}
