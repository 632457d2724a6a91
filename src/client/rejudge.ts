import { createHash } from 'node:crypto';
import path from 'node:path';
import type { JudgesInput } from '../config/judge-config';
import { parseJudges } from '../config/judge-config';
import type { BenchmarkRequest, JudgeSource } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { validateName } from '../core/names';
import { judgeIdentity } from '../evaluation/judges/judged-grader';
import type { BenchmarkPlan } from '../evaluation/runner/benchmark-plan';
import type { WeightsView } from './eval-engine';
import { findJudges } from './judge-sources';
import type { Known } from './known-options';
import { requireKnownOptions } from './known-options';
import type { RunRecords } from './run-records';
import { refuseStrangeCode } from './stored-code';
import { plansIn } from './stored-plans';

/** Whose answers are judged again, and by whom. */
export interface RejudgeOptions {
  /** Folder of an eval run, e.g. `<store>/evals/<run>`. */
  readonly folder: string;
  readonly judge: JudgesInput;
  /** Plug-in file with what was judged; default the one it was begun with. */
  readonly plugins?: string | undefined;
  /** Only these; default all that are judged by a model. */
  readonly benchmarks?: readonly string[] | undefined;
  /** Name of the new eval run; default that of the folder and of the judge. */
  readonly run?: string | undefined;
  /** Folder of its results; default beside the other. */
  readonly output?: string | undefined;
}

const OPTIONS: Known<RejudgeOptions> = {
  folder: true,
  judge: true,
  plugins: true,
  benchmarks: true,
  run: true,
  output: true,
};
const NAME_LENGTH = 50;
const SLUG_LENGTH = 30;
const DIGEST_LENGTH = 8;

/** An eval run as it was asked for, but for its judges and where it goes. */
export async function rejudgeRequests(
  options: RejudgeOptions,
  records: RunRecords,
  view: Pick<WeightsView, 'dataFolder'>,
): Promise<BenchmarkRequest[]> {
  requireKnownOptions('rejudge', options, OPTIONS);
  const folder = path.resolve(options.folder);
  const plans = await judgedPlans(folder, options.benchmarks);
  const { judges = [] } = await findJudges({ judge: parseJudges(options.judge) }, records, view);
  const run = validateName('Eval run', options.run ?? nameFor(path.basename(folder), judges));
  const target =
    options.output === undefined ? path.join(path.dirname(folder), run) : path.resolve(options.output);
  if (target === folder) {
    throw new DomainError(
      'bad-config',
      `--output ${folder} is the eval run itself. Its result stays; give another.`,
    );
  }
  const named = options.plugins === undefined ? {} : { plugins: path.resolve(options.plugins) };
  const requests = plans.map(({ request, benchmark }) => ({
    ...request,
    ...{ run, folder: target, benchmark, judges },
    samplesFrom: folder,
    ...named,
  }));
  if (options.plugins === undefined) refuseStrangeCode(folder, requests, view.dataFolder);
  return requests;
}

async function judgedPlans(folder: string, wanted: readonly string[] | undefined): Promise<BenchmarkPlan[]> {
  const plans = await plansIn(folder, wanted);
  const measured = wanted && plans.find(isMeasuredByItself);
  if (measured) {
    throw new DomainError(
      'bad-config',
      `${measured.benchmark} is measured by its own task and not by a judge: ask it anew with another --run NAME.`,
    );
  }
  const judged = plans.filter(
    (plan) => !isMeasuredByItself(plan) && (wanted || plan.identity.judges !== undefined),
  );
  if (judged.length > 0) return judged;
  throw new DomainError(
    'bad-config',
    `${folder} holds no benchmark that was judged by a model. Name the folder of an eval run with one, e.g. arena_hard.`,
  );
}

/** By likelihood, or by Inspect AI: it would ask the model. */
function isMeasuredByItself({ request, isKind }: BenchmarkPlan): boolean {
  return isKind === true || request.inspectTask !== undefined;
}

/** The same command finds the same folder. */
export function nameFor(before: string, judges: readonly JudgeSource[]): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(judges.map(judgeIdentity)))
    .digest('hex')
    .slice(0, DIGEST_LENGTH);
  const slug = (judges[0]?.model.model ?? 'judge').replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(-SLUG_LENGTH);
  return `${before.slice(0, NAME_LENGTH)}-by-${slug}-${digest}`;
}
