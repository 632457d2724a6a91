import type { RunReport } from '../client/run-report';
import type { RunHandle } from '../client/run-handle';
import { silenceText } from '../client/silent-evaluators';
import { DomainError } from '../core/errors';
import { shellWord } from '../core/shell-word';
import type { Output } from './output';
import { finishingText } from './watch-line';

/** Notes each evaluator of a run that may hang, and what can be done, once. */
export function silenceNoter(output: Pick<Output, 'note' | 'hint'>): (report: RunReport) => void {
  const noted = new Set<string>();
  return (report) => {
    const silences = (report.silentEvaluators ?? []).map(silenceText);
    for (const text of [...silences, silenceRemedy(report, output)]) {
      if (text === null || noted.has(text)) continue;
      noted.add(text);
      output.note(text);
    }
  };
}

/** How such an evaluator is bounded, and where the run has nothing else left to do, what ends its wait; null where there is none. */
export function silenceRemedy(report: RunReport, output: Pick<Output, 'hint'>): string | null {
  if ((report.silentEvaluators ?? []).length === 0) return null;
  const bound =
    '`budget: { seconds: N }` in its entry of `schedules` (in place of evalEvery and evaluators) bounds an evaluator that hangs.';
  return finishingText(report) === null ? bound : `${bound} ${endOfWait(report, output)}`;
}

function endOfWait({ run }: RunReport, output: Pick<Output, 'hint'>): string {
  const name = shellWord(run);
  return `What ends the wait now: ${output.hint(`runs cancel ${name}`)} ends the run with what it has, and ${output.hint(`train --run ${name} --continue`)} goes on with what is missing.`;
}

/** A stop or a pause. One that is refused since no step is left says what the run waits for instead, and what ends that. */
export async function withEndOfWait<Answer>(
  answer: Promise<Answer>,
  handle: Pick<RunHandle, 'status'>,
  output: Pick<Output, 'hint'>,
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'refused') throw error;
    const report = await handle.status().catch(() => null);
    const finishing = report && finishingText(report);
    if (!report || finishing === null) throw error;
    const silences = (report.silentEvaluators ?? []).map((silent) => `; ${silenceText(silent)}`).join('');
    const where = `Run ${JSON.stringify(report.run)}: ${finishing}${silences}.`;
    const end = silenceRemedy(report, output) ?? endOfWait(report, output);
    throw new DomainError('refused', `${where} ${end}`, { cause: error });
  }
}
