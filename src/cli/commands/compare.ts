import { Command, InvalidArgumentError } from 'commander';
import { readEnvironment } from '../../config/environment';
import type { Correction } from '../../evaluation/compare/comparison';
import { CORRECTIONS } from '../../evaluation/compare/comparison';
import { compareMany } from '../../evaluation/compare/compare-results';
import { openOutput } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces, parseCount } from '../service-options';
import { explainUnfinished, reasonsOf } from '../unfinished-benchmarks';
import { comparisonDocument, printComparisons, printMarkdown } from './compare-report';

interface CompareFlags extends PlaceFlags {
  readonly benchmark?: string[];
  readonly correction: Correction;
  readonly allPairs?: boolean;
  readonly completedOnly?: boolean;
  readonly flipped?: number | true;
  readonly markdown?: boolean;
  readonly json?: boolean;
}

const FLIPPED_SHOWN = 20;

export function createCommand(): Command {
  const command = new Command('compare')
    .description('Compare results on the same examples: is one better, or is it chance?')
    .argument(
      '<results...>',
      'two or more: a folder of results, the name of an eval run, RUN@STEP, RUN@best, or RUN (its last evaluated step)',
    )
    .option('--benchmark <names>', 'only these, separated by commas', parseNames)
    .option('--correction <method>', 'for many comparisons: holm, bh or none', parseCorrection, 'holm')
    .option('--all-pairs', 'every pair, instead of the first with each other')
    .option(
      '--completed-only',
      'leave out examples that failed or were cut on either side; else they count 0',
    )
    .option('--flipped [n]', `list examples scored differently (${FLIPPED_SHOWN} a comparison)`, parseCount)
    .option('--markdown', 'a table for a report')
    .option('--json', 'one JSON document on standard output')
    .action(run);
  return addPlaces(command, { store: true });
}

async function run(results: readonly string[], flags: CompareFlags): Promise<void> {
  const output = openOutput(flags);
  const { store } = readEnvironment(flags);
  const { benchmark, correction, allPairs = false, completedOnly = false } = flags;
  const options = {
    ...{ store, correction, allPairs, completedOnly },
    whyUnfinished: async (folder: string, names: readonly string[]) =>
      reasonsOf(await explainUnfinished(folder, names, flags)),
  };
  if (new Set(results).size < results.length)
    output.note('The same results are named more than once: what is compared with itself never differs.');
  const report = await compareMany(results, benchmark ? { ...options, benchmarks: benchmark } : options);
  const flippedCount = flags.flipped === true ? FLIPPED_SHOWN : (flags.flipped ?? 0);
  const document = comparisonDocument(report, { withFlipped: flags.flipped !== undefined });
  output.document({ ...document, warnings: output.adviceOf(report.warnings) });
  if (flags.markdown === true) printMarkdown(output, report);
  else printComparisons(output, report, { flippedCount });
}

function parseNames(text: string): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length > 0) return names;
  throw new InvalidArgumentError('Give names separated by commas.');
}

function parseCorrection(text: string): Correction {
  const correction = CORRECTIONS.find((known) => known === text);
  if (correction) return correction;
  throw new InvalidArgumentError(`Use one of ${CORRECTIONS.join(', ')}.`);
}
