import type { Dispatcher, Pool } from 'undici';
import { Cancellation } from '../../../../src/engines/openai/cancellation';
import type { HttpOutcome } from '../../../../src/engines/openai/http-exchange';
import { exchange } from '../../../../src/engines/openai/http-exchange';

const CONTROLLER = { abort: () => undefined } as unknown as Dispatcher.DispatchController;

/** A pool that calls back as undici does: what a callback throws is told to the last one. */
function poolThat(callBack: (handler: Dispatcher.DispatchHandler) => void): Pool {
  const dispatch = (_: unknown, handler: Dispatcher.DispatchHandler): boolean => {
    try {
      callBack(handler);
    } catch (error) {
      handler.onResponseError?.(CONTROLLER, error as Error);
    }
    return true;
  };
  return { dispatch } as unknown as Pool;
}

function ask(pool: Pool): Promise<HttpOutcome> {
  const request = { method: 'GET' as const, path: '/', headers: {}, body: null, timeoutMs: 1000 };
  return exchange(pool, request, new Cancellation());
}

test('a programming error is no outage, which would be waited for', async () => {
  const pool = poolThat(() => {
    throw new ReferenceError('units is not defined');
  });

  await expect(ask(pool)).rejects.toThrow('units is not defined');
});

test('an error while an answer is read is heard, and not waited for without end', async () => {
  const chunk = {
    length: 1,
    toString() {
      throw new TypeError('text is not a function');
    },
  } as unknown as Buffer;
  const pool = poolThat((handler) => {
    handler.onResponseStart?.(CONTROLLER, 200, {});
    handler.onResponseData?.(CONTROLLER, chunk);
    handler.onResponseEnd?.(CONTROLLER, {});
  });

  await expect(ask(pool)).rejects.toThrow('text is not a function');
});

test('a connection that breaks is a failure of the endpoint', async () => {
  const pool = poolThat((handler) => {
    handler.onResponseError?.(
      CONTROLLER,
      Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
    );
  });

  expect(await ask(pool)).toMatchObject({ kind: 'failure', reason: 'read ECONNRESET' });
});
