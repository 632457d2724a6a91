import { findFreePort } from '../../../src/stack/free-port';
import { readEvents } from '../../unit/server/serving';
import type { Command, Place } from './program';

/** `everstep serve` as a process of its own. */
export async function serve(
  place: Place,
  ...args: readonly string[]
): Promise<{ readonly url: string; readonly command: Command }> {
  const port = await findFreePort();
  const command = place.start('serve', '--port', String(port), ...args);
  await command.says(/Serving at|"url"/);
  return { url: `http://127.0.0.1:${port}`, command };
}

export function post(address: string, body: object): Promise<Response> {
  return fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

export interface HeardEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What a live feed says until it ends. */
export async function follow(address: string): Promise<HeardEvent[]> {
  const reply = await fetch(address);
  if (!reply.body) throw new Error('no body');
  const heard: HeardEvent[] = [];
  for await (const { event, data } of readEvents(reply.body))
    heard.push({ event, data: JSON.parse(data) as HeardEvent['data'] });
  return heard;
}
