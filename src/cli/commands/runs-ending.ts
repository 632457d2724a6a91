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
import { openOutput } from '../output';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { silenceNoter, withEndOfWait } from '../silent-evaluators';
import { withReassurance } from '../slow-change';
import type { Ask } from './runs-confirm';
import { askerOf } from './runs-confirm';
import { statusDocument } from './runs-documents';
import { exitCodeOfRun, printEnd } from './train-follow';

export interface EndingFlags extends PlaceFlags {
  readonly yes?: boolean;
  readonly reason?: string;
}

export interface StopFlags extends EndingFlags {
  readonly atStep?: number;
  readonly detach?: boolean;
}

/** Two ways to end a run before its time, in the words people are told. */
interface Ending {
  readonly name: string;
  readonly past: string;
  readonly gerund: string;
  readonly request: string;
}

const CANCEL: Ending = { name: 'cancel', past: 'cancelled', gerund: 'Cancelling', request: 'Cancel' };
const STOP: Ending = { name: 'stop', past: 'stopped', gerund: 'Stopping', request: 'Stop' };

/** A pause that ends in a stop, if nobody comes back in time. */
export const STOP_AFTER_PAUSE: Ending = {
  name: 'pause',
  past: 'paused',
  gerund: 'Stopping after the pause',
  request: 'Pause, then stop,',
};

/** Cancels a run for good and waits until it is closed. Where no server runs, a stack is started for it. */
export async function cancelOneRun(run: string, flags: EndingFlags, output: Output): Promise<number> {
  return endRun({ run, flags, output, ending: CANCEL }, cancelAndWait);
}

/** Has a run end after a step; waits for the end unless a step was named or `--detach` given. */
export async function stopOneRun(run: string, flags: StopFlags, output: Output): Promise<number> {
  return endRun({ run, flags, output, ending: STOP }, stopAndWait);
}

interface Request<Flags extends EndingFlags> {
  readonly run: string;
  readonly flags: Flags;
  readonly output: Output;
  readonly ending: Ending;
}

interface Carrying<Flags extends EndingFlags> {
  readonly flags: Flags;
  readonly output: Output;
  readonly signal: Interrupts['signal'];
}

async function endRun<Flags extends EndingFlags>(
  { run, flags, output, ending }: Request<Flags>,
  carryOut: (handle: RunHandle, carrying: Carrying<Flags>) => Promise<number>,
): Promise<number> {
  const { hasServer } = await confirmIn({ run, flags, output, ending });
  const interrupts = catchInterrupts(output, `Leaving; the run is being ${ending.past}.`);
  try {
    const opening = hasServer
      ? openForReading(flags)
      : openForWork({
          flags,
          output,
          signal: interrupts.signal,
          detach: false,
          purpose: `${ending.name} ${run}`,
        });
    return await withSession(opening, (session) =>
      carryOut(session.everstep.run(run), { flags, output, signal: interrupts.signal }),
    );
  } finally {
    interrupts.dispose();
  }
}

/** Asks whether an ending is meant, where somebody can be asked. */
export async function confirmOnTerminal(
  run: string,
  flags: EndingFlags & { readonly json?: boolean },
  ending: Ending,
): Promise<void> {
  await confirmIn({ run, flags, output: openOutput(flags), ending });
}

async function confirmIn({ run, flags, output, ending }: Request<EndingFlags>): Promise<Session> {
  return withSession(openForReading(flags), async (session) => {
    const ask = askerOf(output);
    await confirmEnding(session.everstep.run(run), { flags, ending, ask });
    return session;
  });
}

export interface Confirmation {
  readonly flags: EndingFlags;
  readonly ask: Ask;
  readonly ending?: Ending;
}

/** Refuses a run that nobody knows, that has ended or is of another server, and one whose ending is not meant. */
export async function confirmEnding(
  handle: RunHandle,
  { flags, ask, ending = CANCEL }: Confirmation,
): Promise<void> {
  const report = await handle.status();
  if (isClosed(report)) throw alreadyEnded(report, ending);
  if (flags.yes) return;
  if (ask === null) {
    throw new DomainError(
      'bad-config',
      `${ending.gerund} run "${report.run}" cannot be undone. Repeat it with --yes.`,
    );
  }
  const where = `step ${report.step} of ${report.totalSteps || '?'}`;
  if (
    await ask(
      `${ending.request} run ${escapeControls(report.run)} at ${where}? It cannot go on afterwards. [y/N] `,
    )
  )
    return;
  throw new DomainError('bad-config', `Run "${report.run}" was not ${ending.past}.`);
}

export async function cancelAndWait(
  handle: RunHandle,
  { flags, output, signal }: Carrying<EndingFlags>,
): Promise<number> {
  const before = await requireOpen(handle, CANCEL);
  await handle.cancel({ ...(flags.reason !== undefined && { reason: flags.reason }) });
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

export async function stopAndWait(
  handle: RunHandle,
  { flags, output, signal }: Carrying<StopFlags>,
): Promise<number> {
  await requireOpen(handle, STOP);
  const { reason, atStep } = flags;
  const asked = handle.stop({
    ...(reason !== undefined && { reason }),
    ...(atStep !== undefined && { atStep }),
  });
  const receipt = await withEndOfWait(withReassurance(asked, handle, output), handle, output);
  output.note(`Run ${handle.name} stops after step ${receipt.step}.`);
  if (flags.detach || atStep !== undefined) {
    output.document({ run: handle.name, ...receipt });
    return EXIT.done;
  }
  const report = await handle.result({ signal, onReport: silenceNoter(output) });
  const scores = await handle.scores();
  output.document(statusDocument(report, scores));
  if (!isClosed(report)) return EXIT.interrupted;
  printEnd(report, scores, output);
  return exitCodeOfRun(report);
}

async function requireOpen(handle: RunHandle, ending: Ending): Promise<RunReport> {
  const report = await handle.status();
  if (isClosed(report)) throw alreadyEnded(report, ending);
  if (report.source === 'store') {
    const message = `Run "${report.run}" cannot be ${ending.past}. ${report.note ?? ''}`;
    throw new DomainError('bad-config', message.trim());
  }
  return report;
}

function alreadyEnded({ run, status, step, totalSteps }: RunReport, { name }: Ending): DomainError {
  return new DomainError(
    'bad-config',
    `Run "${run}" has ended already (${status} at step ${step} of ${totalSteps}): there is nothing to ${name}.`,
  );
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
