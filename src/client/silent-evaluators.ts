import { z } from 'zod';
import type { CellNews } from '../core/cell-news';
import type { PendingActivity } from './pending-work';
import { isRunning, toldOf, waitOf } from './pending-work';

/** An evaluator that is at work and has said nothing new for long: it may hang. */
export interface SilentEvaluator {
  readonly evaluator: string;
  readonly steps: readonly number[];
  /** The oldest of its steps' last news. */
  readonly since: string;
}

/** Evaluators say something with each answer as a rule. */
const SILENT_MS = 120_000;
const News = z.object({
  cell: z.object({ evaluator: z.string(), step: z.int(), newsAt: z.iso.datetime() }),
}) satisfies z.ZodType<{ readonly cell: CellNews }>;

/** Of a workflow's pending work, by name. What says why it waits is not silent, and workers of older versions send no news. */
export function silentEvaluators(pending: readonly PendingActivity[], now: number): SilentEvaluator[] {
  const found = new Map<string, SilentEvaluator>();
  for (const { evaluator, step, newsAt } of pending.flatMap((activity) => newsOf(activity))) {
    if (now - Date.parse(newsAt) < SILENT_MS) continue;
    const { steps, since } = found.get(evaluator) ?? { steps: [], since: newsAt };
    found.set(evaluator, {
      evaluator,
      steps: [...new Set([...steps, step])].sort((left, right) => left - right),
      since: newsAt < since ? newsAt : since,
    });
  }
  return [...found.values()].sort((left, right) => left.evaluator.localeCompare(right.evaluator));
}

function newsOf(activity: PendingActivity): CellNews[] {
  if (!isRunning(activity) || waitOf(activity) !== null) return [];
  const news = News.safeParse(toldOf(activity)).data;
  return news ? [news.cell] : [];
}

export function silenceText({ evaluator, steps, since }: SilentEvaluator): string {
  const where = `step${steps.length === 1 ? '' : 's'} ${steps.join(', ')}`;
  return `evaluator ${JSON.stringify(evaluator)} of ${where} is at work, with nothing new since ${since}`;
}
