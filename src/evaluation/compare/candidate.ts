import type { BenchmarkFolders, EvalPlace } from '../../stores/eval-places';
import { listBenchmarks } from '../../stores/eval-places';
import type { WhyUnfinished } from './comparison';

/** One side of a comparison: where it lies and what is there. */
export interface Candidate extends BenchmarkFolders {
  readonly place: EvalPlace;
  /** Sentences by the benchmark without a result that they speak of, e.g. why it failed. */
  readonly reasons: ReadonlyMap<string, string>;
}

export async function candidateAt(
  place: EvalPlace,
  whyUnfinished: WhyUnfinished | undefined,
): Promise<Candidate> {
  const { finished, likelihoods, cells, ...rest } = await listBenchmarks(place.folder);
  const isMeant = (name: string) => place.benchmark === null || name === place.benchmark;
  const unfinished = rest.unfinished.filter(isMeant);
  const isAsked = whyUnfinished !== undefined && unfinished.length > 0;
  return {
    place,
    finished: finished.filter(isMeant),
    unfinished,
    reasons: isAsked ? await whyUnfinished(place.folder, unfinished) : new Map(),
    likelihoods: likelihoods.filter(isMeant),
    cells: cells.filter(isMeant),
  };
}
