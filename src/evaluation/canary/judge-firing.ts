import { join } from 'node:path';
import type {
  CanaryFiring,
  CanaryOutcome,
  CanaryReport,
  CanaryRequest,
  CanaryScore,
} from '../../core/canary';
import { firingEpoch, isAlarming } from '../../core/canary';
import type { CanaryStore } from '../../stores/canary-store';
import { createCanaryStore } from '../../stores/canary-store';
import type { StoredPin } from '../../stores/canary-types';
import type { StoredResult } from '../../stores/eval-store';
import { loadResult } from '../../stores/eval-store';
import { digestOf } from '../digest';
import { numRead } from '../judges/parsed-total';
import { judgeScore } from './judge-score';

export interface FiringInput {
  readonly request: CanaryRequest;
  readonly firing: CanaryFiring;
  readonly outcomes: readonly CanaryOutcome[];
}

/**
 * Holds the scores of a firing against what is pinned, and writes what it came to. Repeated, it comes to the same and writes
 * nothing more.
 */
export async function judgeFiring(
  { request, firing, outcomes }: FiringInput,
  attempt: number,
): Promise<CanaryReport> {
  const store = createCanaryStore(request.store, request.name);
  const dir = join(request.store, 'evals', firing.evalRun);
  const measured = await Promise.all(
    outcomes.map(async ({ benchmark, failure }) => ({
      benchmark,
      failure,
      result: failure === null ? await loadResult(dir, benchmark) : null,
    })),
  );
  const pin = await pinFor({ request, firing, dir, measured }, store);
  const scores = await Promise.all(measured.map((each) => scoreOf(each, { request, firing, dir, pin })));
  const report: CanaryReport = {
    schedule: request.name,
    ...firing,
    dir,
    alarm: scores.some(isAlarming),
    scores,
  };
  await store.record(report, firingEpoch(firing, attempt));
  return report;
}

interface Measured {
  readonly benchmark: string;
  readonly failure: string | null;
  readonly result: StoredResult | null;
}

interface MeasuredFiring {
  readonly request: CanaryRequest;
  readonly firing: CanaryFiring;
  readonly dir: string;
  readonly measured: readonly Measured[];
}

/** The stored pin of this question; the first firing that is whole becomes it. Null where the scores were given, or none is yet. */
async function pinFor(
  { request, firing, dir, measured }: MeasuredFiring,
  store: CanaryStore,
): Promise<StoredPin | null> {
  if (request.pin.type === 'scores') return null;
  const asked = askedDigest(request);
  const present = await store.readPin();
  if (present?.asked === asked) return present;
  const results = measured.flatMap(({ result }) => (result?.num_errors === 0 ? [result] : []));
  if (results.length < measured.length) return null;
  const pin: StoredPin = { ...firing, dir, asked, scores: pinnedScores(results) };
  await store.writePin(pin);
  return pin;
}

export function pinnedScores(results: readonly StoredResult[]): StoredPin['scores'] {
  return Object.fromEntries(results.map(({ name, score, stderr }) => [name, { score, stderr }]));
}

/** How fast it is asked changes no score. */
export function askedDigest({ benchmarks, model, asking }: CanaryRequest): string {
  const decisive = Object.fromEntries(Object.entries(asking).filter(([key]) => !HOW_FAST.includes(key)));
  return digestOf([benchmarks, model, decisive]);
}

interface Judging {
  readonly request: CanaryRequest;
  readonly firing: CanaryFiring;
  readonly dir: string;
  readonly pin: StoredPin | null;
}

const HOW_FAST = ['concurrency', 'agentConcurrency', 'timeoutSeconds'];
const NO_SCORE = { score: null, stderr: null, interval: null, numExamples: 0, numErrors: 0 };
const NOT_HELD = { pinned: null, difference: null, method: null };

async function scoreOf(
  { benchmark, failure, result }: Measured,
  { request, firing, dir, pin }: Judging,
): Promise<CanaryScore> {
  if (result === null) {
    const reason = failure ?? `no result in ${dir}/${benchmark}`;
    return { benchmark, ...NO_SCORE, ...NOT_HELD, verdict: 'failed', reason };
  }
  const { score, stderr, ci: interval, num_errors: numErrors } = result;
  const facts = { benchmark, score, stderr, interval, numExamples: numRead(result), numErrors };
  if (pin?.evalRun === firing.evalRun) {
    const reason = 'later firings are held against this one';
    return { ...facts, ...NOT_HELD, pinned: score, verdict: 'pinned', reason };
  }
  const pinned = pinnedOf(request, pin, benchmark);
  if (pinned === null) {
    const reason =
      numErrors > 0 ? `nothing is pinned: ${numErrors} examples failed` : 'nothing is pinned yet';
    return { ...facts, ...NOT_HELD, verdict: 'unpinned', reason };
  }
  const judged = await judgeScore({ schedule: request.name, dir, result, band: request.band, pinned });
  return { ...facts, pinned: pinned.score, ...judged, reason: withErrors(judged.reason, numErrors) };
}

function pinnedOf(request: CanaryRequest, pin: StoredPin | null, benchmark: string) {
  if (request.pin.type === 'scores') {
    const score = request.pin.scores[benchmark];
    return score === undefined ? null : { score, stderr: null, dir: null };
  }
  const stored = pin?.scores[benchmark];
  return pin && stored ? { ...stored, dir: pin.dir } : null;
}

function withErrors(reason: string, numErrors: number): string {
  return numErrors === 0 ? reason : `${reason}; ${numErrors} examples failed and count 0`;
}
