import type { CanaryReport, CanaryRequest, CanaryScore } from '../core/canary';
import { isAlarming } from '../core/canary';
import { askedDigest } from '../evaluation/canary/judge-firing';
import { judgeScore } from '../evaluation/canary/judge-score';
import type { StoredPin } from '../stores/canary-types';
import { loadResult } from '../stores/eval-store';

/** What a firing is held against now. */
export interface PinInForce {
  readonly pin: StoredPin | null;
  /** Null where no server answers: then a firing is held anew only against itself. */
  readonly request: CanaryRequest | null;
}

/**
 * A firing as it stands against the pin of this moment, which somebody may have moved after the firing was judged.
 * What failed stays failed, and so does the record of what it came to then.
 */
export async function heldAgainstPin(
  report: CanaryReport,
  { pin, request }: PinInForce,
): Promise<CanaryReport> {
  if (pin === null) return report;
  const isPinned = pin.evalRun === report.evalRun;
  const isInForce = request !== null && request.pin.type === 'first' && pin.asked === askedDigest(request);
  if (!isPinned && !isInForce) return report;
  const scores = await Promise.all(
    report.scores.map(async (score) => {
      const pinned = pin.scores[score.benchmark];
      if (score.score === null || !pinned) return score;
      if (isPinned) return asPinned(score);
      const isSame = score.pinned === pinned.score;
      return isSame || request === null ? score : judgedAnew(score, report, { pin, request });
    }),
  );
  return { ...report, scores, alarm: scores.some(isAlarming) };
}

function asPinned(score: CanaryScore): CanaryScore {
  const nothingMoved = { pinned: score.score, difference: null, method: null };
  const reason = 'later firings are held against this one';
  return { ...score, ...nothingMoved, verdict: 'pinned', reason };
}

async function judgedAnew(
  score: CanaryScore,
  { dir }: CanaryReport,
  { pin, request }: { readonly pin: StoredPin; readonly request: CanaryRequest },
): Promise<CanaryScore> {
  const pinned = pin.scores[score.benchmark];
  const result = await loadResult(dir, score.benchmark);
  if (!pinned || result === null) return score;
  const { name: schedule, band } = request;
  const judged = await judgeScore({ schedule, dir, result, band, pinned: { ...pinned, dir: pin.dir } });
  return { ...score, pinned: pinned.score, ...judged };
}
