import { z } from 'zod';
import { DomainError } from '../../core/errors';
import { escapeControls } from '../../core/escape-controls';
import { messageOf } from '../error-message';
import type { Grader, GraderTotal, TotalledUnit } from '../graders/grader';

type Summing = Pick<Grader, 'name' | 'summarize' | 'total'>;

const Metrics = z.record(z.string(), z.number());
const Count = z.int().min(0);
const Total = z.object({
  score: z.number().exactOptional(),
  stderr: z.number().nullable().exactOptional(),
  ci: z.tuple([z.number(), z.number()]).nullable().exactOptional(),
  num_clusters: Count.exactOptional(),
  score_completed: z.number().nullable().exactOptional(),
  num_completed: Count.exactOptional(),
  metrics: Metrics.exactOptional(),
});

/** The metrics of a result, as its grader sums them up. Throws `bad-plugin` where that fails or is no finite number. */
export function summarized(
  grader: Summing,
  means: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  if (!grader.summarize) return means;
  const given = told(grader, 'summarize', () => grader.summarize?.({ ...means }));
  const read = Metrics.safeParse(given);
  if (!read.success) throw fault(grader, 'summarize', faultOf(read.error));
  return read.data;
}

/** What the grader says in place of the result's own score; null where it leaves that to the result. Throws as `summarized` does. */
export function totalled(grader: Summing, units: readonly TotalledUnit[]): GraderTotal | null {
  if (!grader.total) return null;
  const given = told(grader, 'total', () => grader.total?.(units));
  const read = Total.safeParse(given);
  if (!read.success) throw fault(grader, 'total', faultOf(read.error));
  return read.data;
}

/** Plain JavaScript may throw anything, and what says nothing of its cause would be tried for ever. */
function told(grader: Summing, method: string, work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    throw error instanceof DomainError ? error : fault(grader, method, `failed: ${messageOf(error)}`);
  }
}

function faultOf({ issues: [issue] }: z.ZodError): string {
  const place = issue?.path.join('.') ?? '';
  return `gave a wrong ${place === '' ? 'result' : place}: ${issue?.message ?? ''}`;
}

function fault({ name }: Summing, method: string, what: string): DomainError {
  return new DomainError('bad-plugin', escapeControls(`grader ${name}: its ${method} ${what}`));
}
