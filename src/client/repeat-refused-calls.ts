import { setTimeout } from 'node:timers/promises';
import type { GrpcRetryOptions } from '@temporalio/client';
import { defaultGrpcRetryOptions } from '@temporalio/client';

type Refusal = Parameters<GrpcRetryOptions['delayFunction']>[1];

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 200;
/** Whoever asks gives the call a deadline, which comes first. */
const MOST_ATTEMPTS = 50;
/** Timers that end together may come in either order. */
const MARGIN_MS = 20;

export interface CallRepeats extends GrpcRetryOptions {
  /**
   * From now on nothing is repeated. Resolves when what was about to be has been: the SDK throws in a timer, which ends the
   * process, where a call is repeated on a connection that is closed.
   */
  readonly end: () => Promise<void>;
}

/**
 * When calls that the server refused are made again. While a workflow's worker is at work on it, a server keeps one question
 * to that workflow (its setting `history.MaxBufferedQueryCount`) and refuses the others as it does where it is overloaded,
 * after which the SDK waits for one and a half seconds; that work is done within milliseconds.
 */
export function repeatRefusedCalls(): CallRepeats {
  const usual = defaultGrpcRetryOptions();
  let isOver = false;
  let lastAt = Number.NEGATIVE_INFINITY;
  return {
    retryableDecider: (attempt, refusal) => {
      if (isOver) return false;
      return isAboutBusyWorkflow(refusal)
        ? attempt < MOST_ATTEMPTS
        : usual.retryableDecider(attempt, refusal);
    },
    delayFunction: (attempt, refusal) => {
      const pauseMs = isAboutBusyWorkflow(refusal)
        ? shortPause(attempt)
        : usual.delayFunction(attempt, refusal);
      lastAt = Math.max(lastAt, performance.now() + pauseMs);
      return pauseMs;
    },
    end: async () => {
      isOver = true;
      const leftMs = lastAt - performance.now();
      if (leftMs > 0) await setTimeout(leftMs + MARGIN_MS);
    },
  };
}

/** Overload is told by the same code. */
function isAboutBusyWorkflow({ details }: Refusal): boolean {
  return /query buffer is full/i.test(details);
}

/** Several who were refused together do not come back together. */
function shortPause(attempt: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 1.5 ** (attempt - 1)) * (0.5 + Math.random());
}
