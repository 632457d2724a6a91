import { DomainError } from '../../core/errors';
import type { Benchmark } from './benchmark';

/** Days as `2025-01-31`, both included up to midnight at their beginning, as the field counts. */
export interface DateWindow {
  readonly startDate?: string;
  readonly endDate?: string;
}

/** A benchmark's examples of some dates. Refused where examples have none. */
export function withinDates(benchmark: Benchmark, window: DateWindow): Benchmark {
  const { startDate, endDate } = window;
  if (startDate === undefined && endDate === undefined) return benchmark;
  const { dateOf } = benchmark;
  if (!dateOf) {
    throw new DomainError(
      'bad-config',
      `startDate, endDate: examples of ${benchmark.name} have no date. Leave them out.`,
    );
  }
  return {
    ...benchmark,
    toExample(row, index) {
      const example = benchmark.toExample(row, index);
      if (example === null) return null;
      const at = momentOf(dateOf(example), benchmark.name);
      const isEarly = startDate !== undefined && at < Date.parse(startDate);
      const isLate = endDate !== undefined && at > Date.parse(endDate);
      return isEarly || isLate ? null : example;
    },
  };
}

/** A score of nothing would be a 0 that nobody earned. */
export function refuseEmptyWindow(
  benchmark: string,
  {
    examples,
    source,
    window,
  }: { readonly examples: readonly unknown[]; readonly source: string; readonly window: DateWindow },
): void {
  if (examples.length > 0) return;
  const { startDate = 'the beginning', endDate = 'the end' } = window;
  const isLimited = window.startDate !== undefined || window.endDate !== undefined;
  throw new DomainError(
    'bad-dataset',
    isLimited
      ? `${benchmark}: ${source} has no example from ${startDate} to ${endDate}. Widen startDate and endDate.`
      : `${benchmark}: ${source} has no examples. Check the data, or name another folder with EVERSTEP_DATA_DIR.`,
  );
}

/** The part of a window that is given, for requests and identities. */
export function givenDates({
  startDate,
  endDate,
}: { [Key in keyof DateWindow]?: string | undefined }): DateWindow {
  return {
    ...(startDate !== undefined && { startDate }),
    ...(endDate !== undefined && { endDate }),
  };
}

/** Times without a zone are taken as the days are. */
function momentOf(date: string, benchmark: string): number {
  const moment = Date.parse(!date.includes('T') || /(?:Z|[+-]\d\d:?\d\d)$/.test(date) ? date : `${date}Z`);
  if (!Number.isNaN(moment)) return moment;
  throw new DomainError('bad-dataset', `${benchmark}: "${date}" is no date of an example. Correct the row.`);
}
