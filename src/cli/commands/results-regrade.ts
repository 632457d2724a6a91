import path from 'node:path';
import type { EvalHandle } from '../../client/eval-handle';
import type { RegradeOptions } from '../../client/regrade';
import type * as RegradePreview from '../../client/regrade-preview';
import { readEnvironment } from '../../config/environment';
import type { Regrading } from '../../core/result-origin';
import type { RegradingPreview } from '../../evaluation/regrade/plan-regrading';
import { locateResults } from '../../stores/eval-places';
import type { StoredResult } from '../../stores/eval-store';
import { benchmarkFolder, loadResult, streamTrajectories } from '../../stores/eval-store';
import type { Session } from '../connect';
import { openForReading, openForWork } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { printTable } from '../tables';
import { refuseUselessFiles } from './eval-files';
import { followEval } from './eval-follow';

export interface RegradeFlags extends PlaceFlags {
  readonly plugins?: string;
  readonly benchmarks?: readonly string[];
  readonly dryRun?: boolean;
}

/** Grades the stored answers of an eval run with its grader as it is now; the model is not asked. */
export async function regradeResults(results: string, flags: RegradeFlags, output: Output): Promise<number> {
  const options = await locate(results, flags);
  if (flags.dryRun) return preview(options, { flags, output });
  await refuseUselessFiles({ plugins: flags.plugins }, flags);
  const interrupts = catchInterrupts(output);
  const { signal } = interrupts;
  try {
    const session = await openForWork({
      ...{ flags, output, signal, detach: false },
      purpose: `results regrade ${results}`,
    });
    try {
      if (signal.aborted) return EXIT.interrupted;
      return await follow(await session.everstep.regrade(options), { session, output, signal });
    } finally {
      await session.close();
    }
  } finally {
    interrupts.dispose();
  }
}

async function locate(results: string, flags: RegradeFlags): Promise<RegradeOptions> {
  const session = await openForReading(flags);
  try {
    const { folder, benchmark } = await locateResults(results, session.environment.store);
    const benchmarks = benchmark === null ? flags.benchmarks : [benchmark];
    return { folder, benchmarks, plugins: flags.plugins };
  } finally {
    await session.close();
  }
}

const HEADING = ['benchmark', 'score', 'answers', 'would be graded', 'because it was graded with'];

async function preview(
  options: RegradeOptions,
  { flags, output }: { readonly flags: PlaceFlags; readonly output: Output },
): Promise<number> {
  // Graders and data sets take longer to load than most commands to run.
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
  const { previewRegradings } = require('../../client/regrade-preview') as typeof RegradePreview;
  const benchmarks = await previewRegradings(options, readEnvironment(flags));
  output.document({ dir: options.folder, benchmarks });
  printTable(output, HEADING, benchmarks.map(previewCells));
  return EXIT.done;
}

function previewCells({ benchmark, score, answered, total, isDone, changes }: RegradingPreview): string[] {
  return [
    benchmark,
    score === null ? '–' : formatNumber(score),
    `${answered} of ${total}`,
    isDone ? '0' : String(answered),
    escapeControls(changes || (isDone ? 'the same grader' : '–')),
  ];
}

interface Following {
  readonly session: Session;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/** Follows it to its end, and says what the grader before had said. */
async function follow(handle: EvalHandle, following: Following): Promise<number> {
  const before = await resultsOf(handle);
  const code = await followEval(handle, following);
  if (following.signal.aborted) return code;
  for (const result of await resultsOf(handle)) {
    const known = before.find(({ name }) => name === result.name)?.regraded?.length ?? 0;
    const text = outcomeText(handle.folder, result, { known, isDone: code === EXIT.done });
    if (text !== null) following.output.note(text);
  }
  return code;
}

/** Of one that could not be graded again nobody knows what its grader would say: null. */
function outcomeText(
  folder: string,
  result: StoredResult,
  { known, isDone }: { readonly known: number; readonly isDone: boolean },
): string | null {
  const { name, regraded = [] } = result;
  const last = regraded.at(-1);
  if (!last) return null;
  if (regraded.length > known) return changesText(folder, result, last);
  return isDone ? `${name}: the same grader judged these answers at ${last.at}; nothing is changed.` : null;
}

async function resultsOf({ folder, names }: EvalHandle): Promise<StoredResult[]> {
  const results = await Promise.all(names.map((name) => loadResult(folder, name)));
  return results.filter((result) => result !== null);
}

function changesText(folder: string, { name, score }: StoredResult, { before }: Regrading): string {
  if (before.score === null || before.folder === null) return `${name}: ${formatNumber(score)}`;
  const old = path.join(benchmarkFolder(folder, name), before.folder);
  const { higher, lower } = countChanges(benchmarkFolder(folder, name), old);
  return `${name}: ${formatNumber(before.score)} before, ${formatNumber(score)} now; ${higher} judged higher, ${lower} lower. The old verdicts: ${old}`;
}

function countChanges(now: string, before: string): { higher: number; lower: number } {
  const rewards = new Map<string, number>();
  for (const { example_id, sample_index = 0, reward } of streamTrajectories(before))
    rewards.set(`${sample_index} ${example_id}`, reward);
  let [higher, lower] = [0, 0];
  for (const { example_id, sample_index = 0, reward } of streamTrajectories(now)) {
    const old = rewards.get(`${sample_index} ${example_id}`) ?? reward;
    if (reward > old) higher += 1;
    if (reward < old) lower += 1;
  }
  return { higher, lower };
}
