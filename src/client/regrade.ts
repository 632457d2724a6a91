import path from 'node:path';
import type { BenchmarkRequest } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { isValidName } from '../core/names';
import type { BenchmarkPlan } from '../evaluation/runner/benchmark-plan';
import type { Known } from './known-options';
import { requireKnownOptions } from './known-options';
import { refuseStrangeCode } from './stored-code';
import { plansIn } from './stored-plans';

/** Whose answers are graded again. */
export interface RegradeOptions {
  /** Folder of an eval run, e.g. `<store>/evals/<run>`. */
  readonly folder: string;
  /** Plug-in file with the present grader; default the one it was begun with. */
  readonly plugins?: string | undefined;
  /** Only these; default all that a grader judged. */
  readonly benchmarks?: readonly string[] | undefined;
}

const OPTIONS: Known<RegradeOptions> = { folder: true, plugins: true, benchmarks: true };

/** An eval run as it was asked for, to have its stored answers graded. */
export async function regradeRequests(
  options: RegradeOptions,
  dataFolder: string,
): Promise<BenchmarkRequest[]> {
  requireKnownOptions('regrade', options, OPTIONS);
  const { folder: given, plugins, benchmarks } = options;
  const folder = path.resolve(given);
  const plans = await gradedPlans(folder, benchmarks);
  const named = plugins === undefined ? {} : { plugins: path.resolve(plugins) };
  const requests = plans.map(({ request, benchmark }) => ({
    ...ofItsOwn(request),
    ...{ run: runIn(folder, request), folder, benchmark, isRegrading: true as const },
    ...named,
  }));
  if (plugins === undefined) refuseStrangeCode(folder, requests, dataFolder);
  return requests;
}

/** The answers are this folder's own, whatever a plan says that may be somebody else's. */
function ofItsOwn(request: BenchmarkRequest): BenchmarkRequest {
  const own = { ...request };
  Reflect.deleteProperty(own, 'samplesFrom');
  return own;
}

/** Of a folder that was copied here, which may be somebody else's, the name is not what its plan says. */
function runIn(folder: string, { run, folder: planned }: BenchmarkRequest): string {
  const name = path.basename(folder);
  return path.resolve(planned) !== folder && isValidName(name) ? name : run;
}

async function gradedPlans(folder: string, wanted: readonly string[] | undefined): Promise<BenchmarkPlan[]> {
  const plans = await plansIn(folder, wanted);
  const graded = plans.filter((plan) => whyNotGraded(plan) === null);
  const [refused] = wanted ? plans.filter((plan) => whyNotGraded(plan) !== null) : [];
  if (refused) throw new DomainError('bad-config', `${refused.benchmark} ${whyNotGraded(refused) ?? ''}`);
  if (graded.length > 0) return graded;
  const reasons = plans.map((plan) => `${plan.benchmark} ${whyNotGraded(plan) ?? ''}`);
  throw new DomainError(
    'bad-config',
    reasons.length > 0
      ? `${folder}: ${reasons.join(' ')}`
      : `${folder} holds no journal of an eval run. What a training run was evaluated to is scored again beside it: everstep eval --evaluator NAME --checkpoint RUN@STEP --run NAME`,
  );
}

/** null for what a grader of ours, or of a plug-in file, judged. */
function whyNotGraded({ request, identity, isKind }: BenchmarkPlan): string | null {
  if (identity.judges)
    return `is judged by a model: \`everstep results rejudge ${request.run} --judge MODEL\` judges its answers again.`;
  if (isKind || request.inspectTask)
    return 'is measured by its own task and not by a grader: ask it anew with another --run NAME.';
  return null;
}
