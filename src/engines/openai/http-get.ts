import { get as getPlainly } from 'node:http';
import { get as getSecurely } from 'node:https';
import type { HttpHeaders, HttpOutcome } from './http-exchange';
import { failureOf, MOST_ANSWER_BYTES } from './http-exchange';

export interface HttpQuestion {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly timeoutMs: number;
}

/** One question on a connection of its own, for commands: a pool takes longer to load than the answer to come. */
export function getOnce({ url, headers, timeoutMs }: HttpQuestion): Promise<HttpOutcome> {
  return new Promise((resolve) => {
    const get = url.startsWith('https:') ? getSecurely : getPlainly;
    const request = get(url, { headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let byteCount = 0;
      response.on('data', (chunk: Buffer) => {
        byteCount += chunk.length;
        if (byteCount <= MOST_ANSWER_BYTES) chunks.push(chunk);
        else settle({ kind: 'too-large' });
      });
      response.on('error', (error) => {
        settle(failureOf(error));
      });
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const answered: HttpHeaders = response.headers;
        settle({ kind: 'answer', status: response.statusCode ?? 0, headers: answered, text });
      });
    });
    const timer = setTimeout(() => {
      settle({ kind: 'timeout' });
    }, timeoutMs);
    request.on('error', (error) => {
      settle(failureOf(error));
    });

    function settle(outcome: HttpOutcome): void {
      clearTimeout(timer);
      resolve(outcome);
      request.destroy();
    }
  });
}
