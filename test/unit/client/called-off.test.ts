import { getEventListeners } from 'node:events';
import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure, RetryState } from '@temporalio/common';
import { awaitWorkflow } from '../../../src/client/eval-workflow';
import type { ServerLink } from '../../../src/client/server-link';

function cancelledWith(fetchHistory: () => Promise<object>): ServerLink {
  const cause = new CancelledFailure('Workflow canceled');
  const result = async () => {
    throw new WorkflowFailedError('Workflow execution cancelled', cause, RetryState.RETRY_POLICY_NOT_SET);
  };
  const client = {
    withDeadline: async (_: number, call: () => Promise<unknown>) => call(),
    workflow: { getHandle: () => ({ result, fetchHistory }) },
  };
  return { find: async () => client } as unknown as ServerLink;
}

const WORKFLOW = { name: 'gsm8k', workflowId: 'bench/x/gsm8k' };

test('a workflow that was called off says by whom, and that its answers are kept', async () => {
  const events = [
    { workflowExecutionStartedEventAttributes: { identity: 'starter@host' } },
    { workflowExecutionCancelRequestedEventAttributes: { identity: '12@host' } },
  ];
  const link = cancelledWith(async () => ({ events }));

  expect(await awaitWorkflow(link, WORKFLOW)).toEqual({
    failure: {
      ...{ name: 'gsm8k', code: null, isCancelled: true },
      message: 'cancelled by 12@host. What was answered is kept: the same command goes on from there.',
    },
  });
});

test('says so too where the server does not tell by whom', async () => {
  const link = cancelledWith(() => Promise.reject(new Error('away')));

  expect(await awaitWorkflow(link, WORKFLOW)).toMatchObject({
    failure: { isCancelled: true, message: expect.stringMatching(/^cancelled\. What/) as string },
  });
});

test('waiting for a server that stays away leaves no more with the signal from try to try', async () => {
  jest.useFakeTimers();
  let tryCount = 0;
  const find = async () => {
    tryCount += 1;
    return null;
  };
  const called = new AbortController();
  const ending = awaitWorkflow({ find } as unknown as ServerLink, WORKFLOW, called.signal);

  await jest.advanceTimersByTimeAsync(20_000);
  const listenerCount = getEventListeners(called.signal, 'abort').length;
  called.abort();
  jest.useRealTimers();

  expect(await ending).toBeNull();
  expect(tryCount).toBeGreaterThan(10);
  expect(listenerCount).toBeLessThanOrEqual(2);
});

/** A workflow that goes on. Like the client, it waits in long polls, each of which leaves a listener with the signal of the call. */
class LongWorkflow {
  readonly signals = new Set<AbortSignal>();
  private signal = new AbortController().signal;
  private end: () => void = () => undefined;
  private readonly ended = new Promise<boolean>((resolve) => {
    this.end = () => {
      resolve(true);
    };
  });

  get link(): ServerLink {
    const withAbortSignal = async (signal: AbortSignal, call: () => Promise<unknown>) => {
      this.signal = signal;
      this.signals.add(signal);
      return call();
    };
    const client = { withAbortSignal, workflow: { getHandle: () => ({ result: () => this.result() }) } };
    return { find: async () => client } as unknown as ServerLink;
  }

  finish(): void {
    this.end();
  }

  private async result(): Promise<string> {
    const { signal } = this;
    for (;;) {
      const cancelled = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('CANCELLED'));
        });
      });
      const polled = new Promise<boolean>((resolve) => setTimeout(resolve, 20_000, false));
      if (await Promise.race([this.ended, polled, cancelled])) return 'scored';
    }
  }
}

test('an evaluation of an hour leaves no more listeners with a signal than node takes for a leak', async () => {
  jest.useFakeTimers();
  const workflow = new LongWorkflow();
  const called = new AbortController();
  const ending = awaitWorkflow(workflow.link, WORKFLOW, called.signal);

  await jest.advanceTimersByTimeAsync(3_600_000);
  const counts = [called.signal, ...workflow.signals].map((one) => getEventListeners(one, 'abort').length);
  workflow.finish();
  jest.useRealTimers();

  expect(Math.max(...counts)).toBeLessThanOrEqual(10);
  expect(await ending).toEqual({ value: 'scored' });
});
