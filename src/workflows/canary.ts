import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { CancellationScope, isCancellation, log, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { CanaryActivities } from '../activities/canary-activities';
import type { CanaryOutcome, CanaryRequest } from '../core/canary';
import { alarmLines, firingOf, firingRequest } from '../core/canary';
import { WEBHOOK_MOST_SECONDS } from '../core/canary-webhook';
import { durationText } from '../core/duration';
import { TASK_QUEUES } from '../core/task-queues';
import type { WebhookDelivery } from '../evaluation/canary/recorded-webhook';
import type { RunBenchmarkInput } from './benchmark-contracts';
import type { CanaryInput, CanaryResult } from './canary-contracts';
import { reasonOf, scoreBenchmark } from './score-benchmark';

const { judgeFiring } = proxyActivities<CanaryActivities>({
  taskQueue: TASK_QUEUES.sampling,
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '20 seconds' },
});

/** Whoever listens may be away; nobody waits for them for long. */
const { tellWebhook } = proxyActivities<CanaryActivities>({
  taskQueue: TASK_QUEUES.sampling,
  scheduleToCloseTimeout: WEBHOOK_MOST_SECONDS * 1000,
  startToCloseTimeout: '30 seconds',
  retry: {
    initialInterval: '1 second',
    backoffCoefficient: 2,
    maximumInterval: '30 seconds',
    maximumAttempts: 6,
  },
});

/**
 * One firing of a schedule: scores a frozen checkpoint or an endpoint, and alarms when the score is not what was pinned.
 *
 * The benchmarks run as they do for `everstep eval`, into an eval run of their own. A firing without a score by its deadline
 * has failed, which is an alarm too. A webhook that cannot be told fails nothing.
 */
export async function canary({ request, useSearchAttributes }: CanaryInput): Promise<CanaryResult> {
  const firing = firingOf(request.name, dueAt());
  const outcomes = await Promise.all(
    request.benchmarks.map((benchmark) => {
      const asked = firingRequest(request, firing, benchmark);
      return score(request, { request: asked, ...(useSearchAttributes && { useSearchAttributes }) });
    }),
  );
  const report = await judgeFiring({ request, firing, outcomes });
  if (!report.alarm) return report;

  log.error('canary alarm', { schedule: request.name, firing: firing.at, alarms: alarmLines(report) });
  if (!request.webhook) return report;
  return { ...report, webhook: await tell({ webhook: request.webhook, report, store: request.store }) };
}

const DUE = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** When the schedule meant it to start, which is its name too: workers may have been away then. */
function dueAt(): Date {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return typedSearchAttributes.get(DUE) ?? startTime;
}

async function score({ deadlineSeconds }: CanaryRequest, input: RunBenchmarkInput): Promise<CanaryOutcome> {
  const { benchmark } = input.request;
  try {
    await CancellationScope.withTimeout(deadlineSeconds * 1000, () => scoreBenchmark(input));
    return { benchmark, failure: null };
  } catch (error) {
    if (CancellationScope.current().consideredCancelled) throw error;
    const failure = isCancellation(error)
      ? `no score within ${durationText(deadlineSeconds)}, or it was cancelled`
      : reasonOf(error);
    return { benchmark, failure };
  }
}

async function tell(delivery: WebhookDelivery): Promise<'told' | 'not told'> {
  const { report } = delivery;
  try {
    await tellWebhook(delivery);
    return 'told';
  } catch (error) {
    if (CancellationScope.current().consideredCancelled) throw error;
    log.error('webhook not told of a canary alarm', { schedule: report.schedule, reason: reasonOf(error) });
    return 'not told';
  }
}
