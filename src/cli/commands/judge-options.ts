import type { Command } from 'commander';
import type { EvaluateOptions } from '../../client/evaluate-options';
import { applyOverrides } from '../../config/config-overrides';
import type { JudgeConfig } from '../../config/judge-config';
import { namedJudge, parseJudges } from '../../config/judge-config';
import { DomainError } from '../../core/errors';
import type * as Catalogue from '../../evaluation/benchmarks';
import { CATALOGUE_NAMES, JUDGED_NAMES } from '../../evaluation/benchmarks/catalogue-names';
import { refuseWithoutJudge } from '../../evaluation/judges/judged-grader';
import { judgesNothing } from '../../evaluation/judges/unasked-judges';
import { repeated } from '../repeated-option';

export interface JudgeFlags {
  readonly judge?: readonly string[];
  readonly judgeEndpoint?: string;
  readonly judgeEngine?: string;
  readonly judgeCheckpoint?: string;
}

/** A judge as the config has it, as far as the command line says. */
interface WrittenJudge {
  readonly model?: string;
  readonly endpoint?: string;
  readonly engine?: string;
  readonly checkpoint?: string;
}

export function addJudgeOptions(command: Command): void {
  command
    .option(
      '--judge <model>',
      'model that judges, or MODEL@URL; repeated, several decide by majority',
      repeated,
    )
    .option('--judge-endpoint <url>', 'OpenAI-compatible endpoint of the judge (that of the model)')
    .option('--judge-engine <url>', 'training service that has the judge')
    .option('--judge-checkpoint <checkpoint>', 'RUN[@STEP], RUN@best, or tinker://… with --judge, as judge');
}

/** null where no judge is named. */
export function judgesFrom(flags: JudgeFlags): WrittenJudge[] | null {
  const place = placeOf(flags);
  const { judge: names = [], judgeCheckpoint: checkpoint } = flags;
  if (names.length > 0) return names.map((name) => ({ ...place, ...namedJudge(name) }));
  if (checkpoint !== undefined) return [place];
  if (Object.keys(place).length === 0) return null;
  throw new DomainError('bad-config', '--judge-endpoint and --judge-engine need --judge MODEL.');
}

/** Of one judge, as `--set` names it. */
const JUDGE_SETTING = /^judge\.\d+\.([^.=\s]+)/;

/** Judges with what `--set judge.N.KEY=VALUE` chooses of them. What the options say cannot be said otherwise by it. */
export function judgesWithSettings(judges: readonly WrittenJudge[], set: readonly string[]): JudgeConfig[] {
  for (const override of set) {
    const key = JUDGE_SETTING.exec(override.trim())?.[1];
    if (key === undefined) {
      throw new DomainError(
        'bad-config',
        `--set ${override}: only what a judge is asked with can be set here. Write, for the first judge, --set judge.0.temperature=0.5.`,
      );
    }
    if (!judges.some((judge) => Object.hasOwn(judge, key))) continue;
    throw new DomainError(
      'bad-config',
      `--set ${override}: ${key} is given by its option too. Leave one out.`,
    );
  }
  const written: Record<string, unknown> = { judge: judges.map((judge) => ({ ...judge })) };
  applyOverrides(written, set);
  return parseJudges(written['judge']);
}

/** Refused before anything is started: sampling that would be paid for and not judged, and a judge that nothing would ask. */
export function refuseUnjudged(
  names: readonly string[],
  { judge, plugins }: Pick<EvaluateOptions, 'judge' | 'plugins'>,
): void {
  const spelled = names.map((name) => name.replaceAll('-', '_'));
  const judged = spelled.filter((name) => JUDGED_NAMES.has(name));
  if (judge !== undefined) {
    // What else there is, a plug-in file brings, and workers may have one of their own.
    const isKnown = plugins === undefined && spelled.every((name) => CATALOGUE_NAMES.has(name));
    if (judged.length === 0 && names.length > 0 && isKnown) throw judgesNothing(names);
    return;
  }
  if (judged.length === 0) return;
  // The catalogue brings all graders along, and most commands need none.
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
  const catalogue = require('../../evaluation/benchmarks') as typeof Catalogue;
  for (const name of judged) refuseWithoutJudge(catalogue.findBenchmark(name).grader, undefined);
}

function placeOf({ judgeEndpoint, judgeEngine, judgeCheckpoint }: JudgeFlags): WrittenJudge {
  return {
    ...(judgeEndpoint !== undefined && { endpoint: judgeEndpoint }),
    ...(judgeEngine !== undefined && { engine: judgeEngine }),
    ...(judgeCheckpoint !== undefined && { checkpoint: judgeCheckpoint }),
  };
}
