import { anySignal } from './any-signal';

type Fetch = typeof fetch;

export interface Patience {
  /** A transfer in which nothing comes for this long has failed. */
  readonly idleMs: number;
  /** How often a request that found nobody, or somebody who cannot answer now, is made. */
  readonly attempts: number;
  readonly pauseMs: number;
}

const PATIENCE: Patience = { idleMs: 20_000, attempts: 3, pauseMs: 500 };

/**
 * `fetch` that gives up where nothing comes, and asks again where nobody answers.
 *
 * The time a reader takes between two reads does not count, so that a slow disk is no silent server. What breaks off in
 * the middle of a body is not asked for again here: part of it is in use already. A body of more than `mostBytes` fails.
 */
export function patientFetch(patience: Patience = PATIENCE, mostBytes = Infinity): Fetch {
  return async (input, init) => {
    const isRepeatable = init?.body == null || typeof init.body === 'string';
    const attempts = isRepeatable ? patience.attempts : 1;
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= attempts;
      const response = await fetchOnce({ ...patience, mostBytes }, input, init).catch((error: unknown) => {
        if (isLast || init?.signal?.aborted) throw error;
        return null;
      });
      if (response && (isLast || !isOutage(response.status))) return response;
      await response?.body?.cancel();
      await new Promise((resolve) => setTimeout(resolve, attempt * patience.pauseMs));
    }
  };
}

function isOutage(status: number): boolean {
  return status === 429 || status >= 500;
}

interface Limits extends Patience {
  readonly mostBytes: number;
}

async function fetchOnce(
  { idleMs, mostBytes }: Limits,
  ...[input, init]: Parameters<Fetch>
): Promise<Response> {
  const idle = new AbortController();
  const inTime = async <Value>(work: Promise<Value>): Promise<Value> => {
    const timer = setTimeout(() => {
      idle.abort(new Error(`nothing came for ${idleMs / 1000} s`));
    }, idleMs);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  };
  const signal = init?.signal ? anySignal([init.signal, idle.signal]) : idle.signal;
  const response = await inTime(fetch(input, { ...init, signal }));
  if (response.body === null) return response;
  const { status, statusText, headers, url } = response;
  const watched = new Response(watch(response.body, { inTime, mostBytes }), { status, statusText, headers });
  // A response that is made has no address, and the hub's library reads where it was sent on to.
  return Object.defineProperty(watched, 'url', { value: url });
}

function watch(
  body: ReadableStream<Uint8Array>,
  {
    inTime,
    mostBytes,
  }: Pick<Limits, 'mostBytes'> & { inTime: <Value>(work: Promise<Value>) => Promise<Value> },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let byteCount = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await inTime(reader.read());
        if (done) {
          controller.close();
          return;
        }
        byteCount += value.length;
        if (byteCount > mostBytes) {
          await reader.cancel();
          throw new Error(`more than ${mostBytes} bytes came`);
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
