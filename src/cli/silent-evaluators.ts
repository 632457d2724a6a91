import type { RunReport } from '../client/run-report';
import { silenceText } from '../client/silent-evaluators';
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
  const bound = '`budget: { seconds: N }` of its schedule bounds an evaluator that hangs.';
  if (finishingText(report) === null) return bound;
  const run = shellWord(report.run);
  return `${bound} What ends the wait now: ${output.hint(`runs cancel ${run}`)} ends the run with what it has, and ${output.hint(`train --run ${run} --continue`)} goes on with what is missing.`;
}
