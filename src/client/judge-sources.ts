import type { BenchmarkConfig } from '../config/benchmark-config';
import type { JudgeConfig } from '../config/judge-config';
import type { JudgeSource, ModelSource } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { judgeSourcesOf } from '../evaluation/judges/judge-sources';
import type { WeightsPlace, WeightsView } from './eval-engine';
import { placeWeights, sourceAtHand } from './eval-engine';
import { findSource } from './eval-source';
import type { RunRecords } from './run-records';

type Asked = Pick<BenchmarkConfig, 'judge' | 'endpoint'>;
/** Where the workers are that will ask; each judge says by itself whether a person named its service. */
type JudgeView = Pick<WeightsView, 'dataFolder'>;

export interface FoundJudges {
  readonly judges?: readonly JudgeSource[];
}

/**
 * Who judges; nothing where nobody is named. A judge without a place is asked where the model is. With a view, judges are as
 * workers there are to ask them: weights of an engine that is gone are asked for at the one that has them now.
 */
export async function findJudges(
  { judge: judges, endpoint }: Asked,
  records: RunRecords,
  view?: JudgeView,
): Promise<FoundJudges> {
  if (!judges) return {};
  const found = await Promise.all(
    judges.map((judge) =>
      explained(async () => {
        const source = await findSource(withPlace(judge, endpoint), records);
        return judgeSourcesOf(judge, view ? await sourceAtHand(source, viewOf(judge, view)) : source);
      }),
    ),
  );
  return { judges: found.flat() };
}

/** Where the judges can be asked, as seen from here. */
export async function placeJudges(
  { judge: judges = [], endpoint }: Asked,
  records: RunRecords,
  view: JudgeView,
): Promise<WeightsPlace[]> {
  return Promise.all(
    judges.map((judge) =>
      explained(async () => {
        const source: ModelSource = await findSource(withPlace(judge, endpoint), records);
        return source.type === 'endpoint'
          ? { at: 'service' as const }
          : placeWeights(source, viewOf(judge, view));
      }),
    ),
  );
}

function viewOf({ engine }: JudgeConfig, { dataFolder }: JudgeView): WeightsView {
  return { dataFolder, isEngineNamed: engine !== undefined };
}

async function explained<Found>(find: () => Promise<Found>): Promise<Found> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new DomainError(error.code, `judge: ${error.message}`, { cause: error });
  }
}

function withPlace(judge: JudgeConfig, endpoint: string | undefined): JudgeConfig {
  const hasPlace = [judge.endpoint, judge.checkpoint, judge.engine].some((place) => place !== undefined);
  if (hasPlace) return judge;
  if (endpoint !== undefined) return { ...judge, endpoint };
  throw new DomainError(
    'bad-config',
    `judge ${judge.model ?? ''}: nothing says where it is. Give --judge-endpoint URL, or judge.endpoint, judge.checkpoint or judge.engine.`,
  );
}
