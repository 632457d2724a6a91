import type { JudgeConfig } from '../../config/judge-config';
import type { CellRejudging, JudgeSource, ModelSource } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import type { Grader } from '../graders/grader';
import type { JudgeAccess } from './judge-access';
import { judgeSourcesOf } from './judge-sources';
import { needsJudge } from './judged-grader';

interface JudgeDependencies {
  readonly judges?: JudgeAccess | undefined;
  readonly rejudging?: CellRejudging | undefined;
}

/** Judges of an evaluator's config, as this worker reaches them, or those who judge again; none for graders that ask none. */
export async function requireJudges(
  grader: Grader,
  configs: readonly JudgeConfig[] | undefined,
  { judges: access, rejudging }: JudgeDependencies,
): Promise<readonly JudgeSource[] | undefined> {
  if (!grader.judging) return undefined;
  if (rejudging) return rejudging.judges;
  if (!configs || !access) throw needsJudge(grader.name);
  const judges = await Promise.all(
    configs.map(async (config) => judgeSourcesOf(config, await findModel(config, access))),
  );
  return judges.flat();
}

/** Refuses judges that say nothing of where they are, or too much. */
export function checkJudges({
  name,
  judge,
}: {
  readonly name: string;
  readonly judge: readonly JudgeConfig[];
}): void {
  for (const config of judge) {
    const problem = problemOf(config);
    if (problem !== null) throw new DomainError('bad-config', `evaluators: judge of "${name}": ${problem}`);
  }
}

function problemOf({ endpoint, checkpoint, engine, model }: JudgeConfig): string | null {
  const placeCount = [endpoint, checkpoint, engine].filter((place) => place !== undefined).length;
  if (endpoint !== undefined && placeCount > 1) return 'give an endpoint, or a checkpoint of an engine.';
  if (placeCount === 0) return 'nothing says where it is. Give endpoint, checkpoint or engine.';
  const isNamed = model !== undefined || (checkpoint !== undefined && !checkpoint.includes('://'));
  return isNamed ? null : 'give "model", as the endpoint or engine calls it.';
}

async function findModel(config: JudgeConfig, access: JudgeAccess): Promise<ModelSource> {
  const { model = '', endpoint, api, checkpoint, engine, renderer } = config;
  checkJudges({ name: model, judge: [config] });
  if (endpoint !== undefined) return { type: 'endpoint', url: endpoint, api, model };
  const choices = {
    ...(engine !== undefined && { url: engine.replace(/\/+$/, '') }),
    ...(renderer !== undefined && { renderer }),
  };
  if (checkpoint === undefined) return { type: 'engine', model, path: null, label: null, ...choices };
  if (checkpoint.includes('://')) return { type: 'engine', model, path: checkpoint, label: null, ...choices };
  return { ...(await access.findCheckpoint(checkpoint)), ...choices };
}
