import { DomainError } from '../../core/errors';
import { notAsked } from '../../core/concurrency/not-asked';
import type { JsonObject } from './answer-fields';
import { objectIn } from './answer-fields';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import type { Cancellation } from './cancellation';
import type { EndpointLane } from './endpoint-lane';
import { GivenUpError } from './given-up';
import type { HttpAnswer, HttpOutcome, HttpRequest } from './http-exchange';
import { exchange, MOST_ANSWER_BYTES } from './http-exchange';
import type { Destination, Refusal } from './refusals';
import { detailOf, isLackOfCapacity, isOutage, refusalIn, serverError, withoutKeyInJson } from './refusals';
import { capacityWaitMs, retryAfterMs } from './retry-after';
import type { Sent } from './server-capacity';

export interface EndpointRequest {
  readonly to: Destination;
  readonly request: HttpRequest;
  /** How long failures alone are met with other attempts. */
  readonly patienceMs: number;
  /** A small request that any server of the model answers. */
  readonly healthCheck: () => HttpRequest;
  readonly cancellation: Cancellation;
  /** Fires when this process is about to end: what is not sent yet waits to be cancelled. */
  readonly stopping?: AbortSignal | undefined;
  /** Told what it waits for, once that has taken a while and nobody else was answered meanwhile. */
  readonly onWaiting?: TellWaiting | undefined;
}

/** A JSON object, or a refusal that other attempts would not change. */
export type EndpointReply =
  | { readonly answer: JsonObject; readonly seconds: number }
  | { readonly refusal: Refusal; readonly seconds: number };

type Verdict =
  EndpointReply | { readonly verdict: 'no-capacity'; readonly waitMs: number | null } | OutageVerdict;

interface OutageVerdict {
  readonly verdict: 'outage';
  readonly reason: string;
  readonly waitMs: number;
  readonly cause: unknown;
}

interface Attempts {
  /** Of the failures since the server last said anything. */
  failureCount: number;
  failingSince: number;
  lastFailedAt: number;
  /** Failures beyond patience, of an endpoint that answers other requests in between. */
  failuresBesideAnswers: number;
  sentMs: number;
  /** When the endpoint first turned it away. */
  refusedSince: number | null;
  /** What it waits for stands somewhere. */
  isTold: boolean;
}

const A_DAY_MS = 86_400_000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 5_000;
/** The endpoint may have come back just before it answered another request. */
const MOST_FAILURES_BESIDE_ANSWERS = 3;
/** Who is turned away once is mostly heard at the next attempt. */
const TOLD_AFTER_MS = 3_000;
/** A wait that a server asks for is told at once where it is as long as this. */
const LONG_WAIT_MS = 30_000;

/**
 * Sends a request once there is capacity. This is the one place that tries again: a lack of capacity is waited for as
 * long as it takes, outages as long as patience lasts.
 */
export async function sendRequest(lane: EndpointLane, order: EndpointRequest): Promise<EndpointReply> {
  const attempts: Attempts = {
    ...{ failureCount: 0, failingSince: 0, lastFailedAt: 0, failuresBesideAnswers: 0 },
    ...{ sentMs: 0, refusedSince: null, isTold: false },
  };
  for (let wasSent = false; ; wasSent = true) {
    if (lane.sharing) await lane.sharing.join();
    const sent = await acquire(lane, order, wasSent);
    try {
      const verdict = await attempt(lane, order, { attempts, sent });
      if (!('verdict' in verdict)) return settled(verdict, order, attempts);
      tellWaiting(lane, order, { attempts, verdict });
      if (verdict.verdict === 'outage') await bearOutage(lane, order, { attempts, outage: verdict });
    } finally {
      lane.limiter.release();
    }
  }
}

/** A place at the server; when this process is about to end there is none. What was never sent says so: it cost nothing. */
async function acquire(
  { limiter }: EndpointLane,
  { cancellation, stopping }: EndpointRequest,
  wasSent: boolean,
): Promise<Sent> {
  try {
    const sent = await limiter.acquire(cancellation, wasSent);
    if (stopping?.aborted !== true) return sent;
    limiter.release();
    for (;;) await cancellation.pause(A_DAY_MS);
  } catch (cause) {
    if (wasSent || stopping?.aborted !== true) throw cause;
    throw notAsked(cause);
  }
}

async function attempt(
  lane: EndpointLane,
  order: EndpointRequest,
  { attempts, sent }: { readonly attempts: Attempts; readonly sent: Sent },
): Promise<Verdict> {
  const { request, to, cancellation } = order;
  const timeoutMs = request.timeoutMs - attempts.sentMs;
  if (timeoutMs <= 0) throw timedOut(order);
  const sentAt = performance.now();
  const outcome = await exchange(lane.pool, { ...request, timeoutMs }, cancellation);
  const elapsedMs = performance.now() - sentAt;
  attempts.sentMs += elapsedMs;
  if (outcome.kind === 'timeout') throw timedOut(order);
  const verdict = judge(outcome, { to, seconds: elapsedMs / 1000, attempts });
  if ('verdict' in verdict && verdict.verdict === 'outage') return verdict;
  // Whatever else it says, the server is there.
  attempts.failureCount = 0;
  lane.outage.ended();
  if ('verdict' in verdict) lane.limiter.refused(sent, verdict.waitMs);
  else if ('answer' in verdict) {
    lane.limiter.answered(sent);
    lane.outage.answered();
  }
  return verdict;
}

function judge(
  outcome: Exclude<HttpOutcome, { kind: 'timeout' }>,
  context: { readonly to: Destination; readonly seconds: number; readonly attempts: Attempts },
): Verdict {
  const { to, seconds } = context;
  if (outcome.kind === 'too-large') {
    throw serverError(`answers with more than ${MOST_ANSWER_BYTES / 2 ** 20} MB.`, to);
  }
  const delayMs = backoffMs(context.attempts.failureCount);
  if (outcome.kind === 'failure') {
    return { verdict: 'outage', reason: outcome.reason, waitMs: delayMs, cause: outcome.cause };
  }
  const answer = isGood(outcome) ? objectIn(withoutKeyInJson(outcome.text, to)) : null;
  if (isGood(outcome) && !answer) {
    // As a page of a gateway whose server is away.
    const reason = `an answer that is no JSON object: ${excerpt(outcome, to)}`;
    return { verdict: 'outage', reason, waitMs: delayMs, cause: undefined };
  }
  const refusal = answer ? refusalIn(answer, outcome.text) : refusalOf(outcome);
  return answer && !refusal
    ? { answer, seconds }
    : judgeRefusal(refusal ?? refusalOf(outcome), outcome, { ...context, delayMs });
}

function isGood({ status }: Pick<HttpAnswer, 'status'>): boolean {
  return status >= 200 && status <= 299;
}

function judgeRefusal(
  refusal: Refusal,
  { headers }: HttpAnswer,
  { to, seconds, delayMs }: { readonly to: Destination; readonly seconds: number; readonly delayMs: number },
): Verdict {
  const now = Date.now();
  const waitMs = retryAfterMs(headers, now);
  if (isLackOfCapacity(refusal, waitMs !== null)) {
    return { verdict: 'no-capacity', waitMs: capacityWaitMs(headers, now) };
  }
  if (!isOutage(refusal) || headers['x-should-retry'] === 'false') return { refusal, seconds };
  const reason = `${refusal.status}: ${detailOf(refusal, to)}`;
  return { verdict: 'outage', reason, waitMs: waitMs ?? delayMs, cause: undefined };
}

function tellWaiting(
  { outage }: EndpointLane,
  { to, onWaiting }: EndpointRequest,
  { attempts, verdict }: { readonly attempts: Attempts; readonly verdict: Exclude<Verdict, EndpointReply> },
): void {
  const now = performance.now();
  attempts.refusedSince ??= now;
  const { refusedSince } = attempts;
  const isLong = (verdict.waitMs ?? 0) >= LONG_WAIT_MS;
  if (now - refusedSince < TOLD_AFTER_MS && !isLong) return;
  const what =
    verdict.verdict === 'outage'
      ? `gives nothing but failures (${verdict.reason})`
      : `has no capacity for "${to.model}"${askedWait(verdict.waitMs)}`;
  // Where others are answered, the work as a whole goes on; but a long wait may be all that is left of it.
  const isAlone = outage.hasAnsweredSince(refusedSince) && !isLong;
  attempts.isTold = !isAlone;
  onWaiting?.(isAlone ? null : `the endpoint at ${to.address.shown} ${what}`);
}

/** What it waited for stands nowhere any longer. */
function settled(reply: EndpointReply, { onWaiting }: EndpointRequest, { isTold }: Attempts): EndpointReply {
  if (isTold) onWaiting?.(null);
  return reply;
}

/** Of waits that are long enough to be wondered at. */
function askedWait(waitMs: number | null): string {
  if (waitMs === null || waitMs < LONG_WAIT_MS) return '';
  return `, and is asked again in ${Math.round(waitMs / 1000)} s, as it says`;
}

/** Waits before the next attempt, holding the slot: others would fare no better. */
async function bearOutage(
  lane: EndpointLane,
  order: EndpointRequest,
  { attempts, outage }: { readonly attempts: Attempts; readonly outage: OutageVerdict },
): Promise<void> {
  const { patienceMs, to, cancellation } = order;
  const now = performance.now();
  const isFirst = attempts.failureCount === 0;
  const failedBefore = isFirst ? now : attempts.lastFailedAt;
  if (isFirst) Object.assign(attempts, { failingSince: now, failuresBesideAnswers: 0 });
  Object.assign(attempts, { failureCount: attempts.failureCount + 1, lastFailedAt: now });
  const hasLostPatience = now - attempts.failingSince + outage.waitMs > patienceMs;
  if (lane.outage.isExhausted(patienceMs) || hasLostPatience) {
    if (!(await answersOthers(lane, order, failedBefore))) throw unreachable(to, patienceMs, outage);
    if (hasLostPatience) attempts.failuresBesideAnswers += 1;
    // What is failed time and again by an endpoint that answers others is the request's own failure.
    if (attempts.failuresBesideAnswers > MOST_FAILURES_BESIDE_ANSWERS) {
      throw new GivenUpError(to, now - attempts.failingSince, outage);
    }
  }
  await cancellation.pause(outage.waitMs);
}

/** Whether another request has been answered since a time; where there was none, a small one finds out. */
async function answersOthers(
  { outage, pool }: EndpointLane,
  { healthCheck, cancellation }: EndpointRequest,
  since: number,
): Promise<boolean> {
  if (outage.hasAnsweredSince(since)) return true;
  const reply = await exchange(pool, healthCheck(), cancellation);
  // What begins good answers and breaks them off is there: waiting for it would have no end.
  if (reply.kind === 'failure') return reply.status !== undefined && isGood({ status: reply.status });
  if (reply.kind !== 'answer' || !isGood(reply)) return false;
  const answer = objectIn(reply.text);
  if (!answer || refusalIn(answer, reply.text)) return false;
  outage.ended();
  outage.answered();
  return true;
}

function unreachable(
  { address }: Destination,
  patienceMs: number,
  { reason, cause }: OutageVerdict,
): DomainError {
  return new DomainError(
    'unreachable',
    `The endpoint at ${address.shown} gave nothing but failures for ${Math.round(patienceMs / 1000)} s (${reason}). Check that it is up and that the URL is right.`,
    { retryable: true, cause },
  );
}

function refusalOf({ status, text, headers }: HttpAnswer): Refusal {
  const { location } = headers;
  return { status, text, location: typeof location === 'string' ? location : undefined };
}

function timedOut({ to, request }: EndpointRequest): DomainError {
  return new DomainError(
    'timed-out',
    `The endpoint at ${to.address.shown} gave no answer for "${to.model}" within ${request.timeoutMs / 1000} s of sending. Allow more time, ask for fewer tokens or lower the concurrency.`,
    { retryable: true },
  );
}

/** Cut when the key is out of it: a part of one would not be known. */
function excerpt(answer: HttpAnswer, to: Destination): string {
  return detailOf(answer, to).slice(0, 200);
}

/** Doubles, with up to a quarter less so that clients do not knock together. */
function backoffMs(failureCount: number): number {
  return (
    Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failureCount, 10)) * (1 - Math.random() / 4)
  );
}
