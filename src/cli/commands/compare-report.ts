/** What `everstep compare` shows. */
import type { Comparison, ComparisonReport, DetailedComparison } from '../../evaluation/compare/comparison';
import { escapeControls } from '../escape-controls';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import { printTable } from '../tables';

const HEADING = [
  'benchmark',
  'A',
  'B',
  'n',
  'score A',
  'score B',
  'A − B (95 %)',
  'p (z)',
  'p (verdict)',
  'A wins / loses / ties',
];

/** Without the examples, unless they are asked for. */
export function comparisonDocument(report: ComparisonReport, options: { readonly withFlipped: boolean }) {
  return {
    comparisons: report.comparisons.map((comparison) => {
      const document: Partial<DetailedComparison> = { ...comparison };
      if (!options.withFlipped) Reflect.deleteProperty(document, 'flipped');
      return document;
    }),
    warnings: report.warnings,
  };
}

export function printComparisons(
  output: Output,
  { comparisons, places, warnings }: ComparisonReport,
  { flippedCount }: { readonly flippedCount: number },
): void {
  for (const { label, folder } of places) output.line(escapeControls(`${label}: ${folder}`));
  output.line();
  printTable(output, HEADING, comparisons.map(cellsOf));
  output.line();
  for (const comparison of comparisons) output.line(escapeControls(verdictLine(comparison)));
  if (flippedCount > 0) for (const comparison of comparisons) printFlipped(output, comparison, flippedCount);
  if (warnings.length > 0) output.line();
  for (const warning of warnings)
    output.line(output.colors.yellow(`! ${escapeControls(output.advice(warning))}`));
}

/** For a report or a pull request. */
export function printMarkdown(output: Output, { comparisons, warnings }: ComparisonReport): void {
  const heading = [...HEADING, 'verdict'];
  output.line(markdownRow(heading));
  output.line(markdownRow(heading.map(() => '---')));
  for (const comparison of comparisons) {
    output.line(markdownRow([...cellsOf(comparison), comparison.verdict]));
  }
  if (warnings.length > 0) output.line();
  for (const warning of warnings) output.line(`- ${markdownText(output.advice(warning))}`);
}

function cellsOf(comparison: Comparison): string[] {
  const { benchmark, a, b, n, scoreA, scoreB, pValue, pDecision, wins, losses, ties } = comparison;
  return [
    benchmark,
    a,
    b,
    String(n),
    formatNumber(scoreA),
    formatNumber(scoreB),
    differenceText(comparison),
    formatProbability(pValue),
    formatProbability(pDecision),
    `${wins} / ${losses} / ${ties}`,
  ];
}

/** Where every example changed alike there is no spread that a range could be told from. */
function differenceText({ difference, interval }: Comparison): string {
  const range =
    interval === null || interval[0] === interval[1] ? '' : ` [${interval.map(formatNumber).join(', ')}]`;
  return `${difference > 0 ? '+' : ''}${formatNumber(difference)}${range}`;
}

function verdictLine({ benchmark, a, b, verdict, mcnemar, wins, losses, clusterCount }: Comparison): string {
  const clusters = clusterCount === undefined ? '' : ` Standard errors of ${clusterCount} clusters.`;
  const exact = mcnemar === null ? '' : ` Exact McNemar p ${formatProbability(mcnemar.pValue)}.`;
  const flipped = wins + losses;
  // What is right or wrong flips; a loss or a rating only differs.
  const what = mcnemar === null ? 'scored differently' : 'flipped';
  // Where none did, the verdict says so.
  const numbers =
    flipped === 0 ? '' : ` ${flipped} ${flipped === 1 ? 'example' : 'examples'} ${what}.${exact}`;
  return `${benchmark}, ${a} against ${b}: ${verdict}.${numbers}${clusters}`;
}

function printFlipped(output: Output, { benchmark, a, b, flipped }: DetailedComparison, limit: number): void {
  output.line();
  output.line(escapeControls(`${benchmark}: scored differently by ${a} and ${b}`));
  printTable(
    output,
    ['example', 'score A', 'score B'],
    flipped.slice(0, limit).map((row) => [row.exampleId, formatNumber(row.scoreA), formatNumber(row.scoreB)]),
  );
  if (flipped.length > limit) output.line(`… ${flipped.length - limit} more; --flipped N shows N.`);
}

function formatProbability(value: number): string {
  return value < 0.0001 ? '< 0.0001' : value.toPrecision(2);
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map(markdownText).join(' | ')} |`;
}

function markdownText(text: string): string {
  return escapeControls(text).replaceAll('|', String.raw`\|`);
}
