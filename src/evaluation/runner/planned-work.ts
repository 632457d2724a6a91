import type { BenchmarkRequest, ModelSource } from '../../core/benchmark-run';
import type { ResultIdentity } from '../../stores/eval-store';
import type { Benchmark, GenerationDefaults } from '../benchmarks/benchmark';
import { givenDates } from '../benchmarks/date-window';
import { digestOf } from '../digest';
import { judgesOfIdentity } from '../judges/judged-grader';
import { forModel } from '../model-defaults';
import type { BenchmarkPlan } from './benchmark-plan';
import type { ExampleDraft } from './example-draft';
import { SEED_RULE } from './identity';
import type { ModelAccess } from './open-model';

/** Everything a plan says but how it is cut into shards and how often it was started. */
export type PlannedWork = Omit<BenchmarkPlan, 'shards' | 'starts' | 'startedAt' | 'secondsBefore'>;

export interface ChosenExamples {
  readonly request: BenchmarkRequest;
  readonly source: string;
  readonly draft: Pick<ExampleDraft, 'dataHash' | 'exampleCount'>;
  /** What was planned there before. */
  readonly before?: BenchmarkPlan | null;
}

/** What is asked of whom, how it is judged, and by what its answers are found again. */
export function workOf(
  { models }: { readonly models: Pick<ModelAccess, 'promptFormat'> },
  benchmark: Benchmark,
  { request, source, draft, before = null }: ChosenExamples,
): PlannedWork {
  const { model, numSamples } = request;
  const defaults = forModel(model.model);
  const generation = generationOf(request, benchmark);
  const contextWindow = request.contextWindow ?? defaults.contextWindow;
  const systemPrompt = request.systemPrompt ?? benchmark.systemPrompt ?? null;
  const promptHash = digestOf([models.promptFormat(model), systemPrompt]);
  const identity: ResultIdentity = {
    benchmarkVersion: benchmark.version,
    dataHash: draft.dataHash,
    ...givenDates(request),
    promptHash,
    graderVersion: benchmark.grader.version,
    sampling: { ...generation, numSamples, contextWindow, seed: SEED_RULE },
    model: model.model,
    checkpoint: checkpointOf(model),
    ...judgesOfIdentity(benchmark.grader, request.judges),
  };
  return {
    benchmark: benchmark.name,
    request,
    identity,
    generation,
    contextWindow,
    timeoutSeconds: request.timeoutSeconds ?? defaults.timeoutSeconds,
    numSamples,
    systemPrompt,
    source,
    exampleCount: draft.exampleCount,
    base: digestOf([model.type, weightsOf(model), model.model, promptHash, generation, contextWindow]),
    ...keptOf(before),
  };
}

/** What a plan goes on with: by what its answers are found again, and where they and its judgements come from. */
function keptOf(before: BenchmarkPlan | null): Partial<PlannedWork> {
  if (!before) return { isKeyedByPrompt: true };
  const { isKeyedByPrompt, examplesFile, regraded, answers } = before;
  return {
    ...(isKeyedByPrompt && { isKeyedByPrompt }),
    ...(examplesFile !== undefined && { examplesFile }),
    ...(regraded && { regraded }),
    ...(answers && { answers }),
  };
}

/** How people call what was measured. */
function checkpointOf(model: ModelSource): string {
  return model.type === 'endpoint' ? model.url : (model.label ?? model.path ?? '');
}

/** What was measured, whatever it is called. */
function weightsOf(model: ModelSource): string {
  return model.type === 'endpoint' ? model.url : (model.identity ?? model.path ?? '');
}

/** What is known of a model goes before what its benchmark suggests; the benchmark knows how long its answers are. */
function generationOf(
  { model, maxTokens, temperature, topP }: BenchmarkRequest,
  { generation }: Benchmark,
): GenerationDefaults {
  const known = forModel(model.model);
  return {
    maxTokens: maxTokens ?? (known.warning === null ? known.maxTokens : generation.maxTokens),
    temperature: temperature ?? generation.temperature,
    topP: topP ?? generation.topP,
  };
}
