import type { ComparedRun, MetricComparison, RunComparison } from '../../client/compare-runs';
import { configValueText } from '../../client/config-differences';
import type { CurvePoint } from '../../core/metrics/metric-curve';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { formatNumber } from '../number-format';
import type { Session } from '../connect';
import type { Output } from '../output';
import { printTable } from '../tables';
import { comparisonDocument, printComparisons } from './compare-report';

export interface CompareRunsFlags {
  readonly metric?: readonly string[];
  readonly points?: number;
}

/** Two training runs: metrics by value, evaluations by example, and what their configs differ in. */
export async function compareTwoRuns(
  names: readonly [string, string],
  { everstep, output }: Pick<Session, 'everstep'> & { readonly output: Output },
  { metric, points }: CompareRunsFlags = {},
): Promise<number> {
  const comparison = await everstep.runs.compare(...names, {
    ...(metric !== undefined && { metrics: metric }),
    ...(points !== undefined && { points }),
  });
  output.document({ ...documentOf(comparison), remarks: output.adviceOf(comparison.remarks) });
  print(output, comparison);
  return EXIT.done;
}

function documentOf({ evaluations, ...rest }: RunComparison) {
  return { ...rest, evaluations: evaluations && comparisonDocument(evaluations, { withFlipped: false }) };
}

function print(output: Output, { a, b, metrics, evaluations, config, remarks }: RunComparison): void {
  output.line(escapeControls(`A: ${factsText(a)}`));
  output.line(escapeControls(`B: ${factsText(b)}`));
  output.line();
  if (config.length === 0) output.line('Their configs are the same.');
  else {
    const rows = config.map(({ key, ...values }) => [
      key,
      configValueText(values.a),
      configValueText(values.b),
    ]);
    printTable(output, ['config', 'A', 'B'], rows);
  }
  if (metrics.length > 0) printMetrics(output, metrics);
  if (evaluations) {
    output.line();
    printComparisons(output, evaluations, { flippedCount: 0 });
  }
  output.line();
  for (const remark of remarks)
    output.line(output.colors.yellow(`! ${escapeControls(output.advice(remark))}`));
}

function factsText({ run, status, step, totalSteps, kind, model }: ComparedRun): string {
  return `${run} (${kind} of ${model}, ${status} at step ${step} of ${totalSteps})`;
}

function printMetrics(output: Output, metrics: readonly MetricComparison[]): void {
  output.line();
  printTable(
    output,
    ['metric', 'better', 'A last', 'B last', 'A best', 'B best'],
    metrics.map(({ metric, higherIsBetter, a, b }) => [
      metric,
      higherIsBetter === null ? '?' : higherIsBetter ? 'higher' : 'lower',
      pointText(a.last),
      pointText(b.last),
      pointText(a.best),
      pointText(b.best),
    ]),
  );
  output.line();
  const rows = metrics.flatMap(({ metric, points, atTokens }) => [
    ...points.map(({ step, a, b, difference }) => [metric, `step ${step}`, ...valueCells(a, b, difference)]),
    ...(atTokens
      ? [
          [
            metric,
            `${atTokens.tokens} tokens`,
            ...[pointText(atTokens.a), pointText(atTokens.b), differenceText(atTokens.difference)],
          ],
        ]
      : []),
  ]);
  if (rows.length === 0) output.line('No step has a value on both sides.');
  else printTable(output, ['metric', 'at', 'A', 'B', 'A − B'], rows);
}

function valueCells(a: number, b: number, difference: number): string[] {
  return [formatNumber(a), formatNumber(b), differenceText(difference)];
}

function pointText(point: CurvePoint | null): string {
  return point === null ? '' : `${formatNumber(point.value)} @${point.step}`;
}

function differenceText(difference: number): string {
  return `${difference > 0 ? '+' : ''}${formatNumber(difference)}`;
}
