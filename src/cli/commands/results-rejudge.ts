import { judgesAtEndpoints } from '../../client/check-endpoint';
import type { RejudgeOptions } from '../../client/rejudge';
import { evaluatedStepIn } from '../../stores/evaluated-step';
import { DomainError } from '../../core/errors';
import { locateResults } from '../../stores/eval-places';
import { openForReading, openForWork } from '../connect';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { refuseUselessAddresses } from './eval-endpoint';
import { refuseUselessFiles } from './eval-files';
import { followEval } from './eval-follow';
import { followCells } from './results-rejudge-cells';
import type { JudgeFlags } from './judge-options';
import { judgesFrom, judgesWithSettings } from './judge-options';

export interface RejudgeFlags extends PlaceFlags, JudgeFlags {
  readonly benchmark?: readonly string[];
  readonly plugins?: string;
  readonly run?: string;
  readonly output?: string;
  readonly set?: readonly string[];
}

/** Judges the stored answers of an eval run, or of a training run at a step, by other judges, beside them; the model is not asked. */
export async function rejudgeResults(results: string, flags: RejudgeFlags, output: Output): Promise<number> {
  const judges = judgesFrom(flags);
  if (!judges) throw new DomainError('bad-config', 'Name who judges: --judge MODEL --judge-endpoint URL.');
  const judge = judgesWithSettings(judges, flags.set ?? []);
  const options = await locate(results, flags, judge);
  await refuseUselessFiles({ plugins: flags.plugins }, flags);
  await refuseUselessJudges(options, flags, output);
  const interrupts = catchInterrupts(output);
  try {
    const session = await openForWork({
      flags,
      output,
      signal: interrupts.signal,
      detach: false,
      purpose: `results rejudge ${results}`,
    });
    try {
      if (interrupts.signal.aborted) return EXIT.interrupted;
      const following = { session, output, signal: interrupts.signal };
      if (evaluatedStepIn(session.everstep.store, options.folder))
        return await followCells(await session.everstep.rejudgeEvaluations(options), following);
      return await followEval(await session.everstep.rejudge(options), following);
    } finally {
      await session.close();
    }
  } finally {
    interrupts.dispose();
  }
}

async function refuseUselessJudges(
  options: RejudgeOptions,
  flags: RejudgeFlags,
  output: Output,
): Promise<void> {
  const isBegun = async () => {
    const session = await openForReading(flags);
    try {
      return await session.everstep.isRejudgingBegun(options);
    } finally {
      await session.close();
    }
  };
  const addressees = judgesAtEndpoints(options.judge);
  await refuseUselessAddresses({ addressees, flags, isBegun }, output);
}

async function locate(
  results: string,
  flags: RejudgeFlags,
  judge: RejudgeOptions['judge'],
): Promise<RejudgeOptions> {
  const session = await openForReading(flags);
  try {
    const { folder, benchmark } = await locateResults(results, session.environment.store);
    const { plugins, run, output } = flags;
    const benchmarks = benchmark === null ? flags.benchmark : [benchmark];
    return { folder, judge, plugins, run, output, benchmarks };
  } finally {
    await session.close();
  }
}
