import { join } from 'node:path';
import { rolloutPage } from '../../evaluation/pages/rollout-page';
import { writeWholeFile } from '../../stores/whole-file';
import { readEvaluationGroups } from './evaluation-groups';

export interface EvaluationPageRequest {
  readonly run: string;
  readonly step: number;
  readonly evaluator: string;
  /** The evaluation's own. */
  readonly folder: string;
  readonly groupCount: number;
}

/** What an evaluation sampled, as a page for a browser; null where it sampled nothing. */
export async function evaluationPage(request: EvaluationPageRequest): Promise<string | null> {
  const { run, step, evaluator, folder, groupCount } = request;
  const { groups, total } = await readEvaluationGroups(folder, groupCount);
  if (total === 0) return null;
  return rolloutPage({
    title: `${run}, step ${step}, ${evaluator}`,
    groups,
    hiddenCount: total - groups.length,
    command: `everstep runs rollouts ${run} --step ${step} --evaluation ${evaluator} --groups ${total}`,
  });
}

/** `evals/<step>/<evaluator>/rollouts.html`; the same again when it is written again. */
export async function writeEvaluationPage(request: EvaluationPageRequest): Promise<void> {
  const page = await evaluationPage(request);
  if (page !== null) await writeWholeFile(join(request.folder, 'rollouts.html'), page);
}
