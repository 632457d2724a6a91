import type { Patience } from '../core/concurrency/patient-fetch';
import { patientFetch } from '../core/concurrency/patient-fetch';

const HUB = 'https://huggingface.co';

interface HubCredentials {
  readonly token?: string | null | undefined;
  readonly hubUrl?: string | null | undefined;
}

/** `patientFetch` for a hub, whose token no other address gets: an answer may name one as its next page. */
export function hubFetch(
  { token, hubUrl }: HubCredentials,
  ...[patience, mostBytes]: [patience?: Patience, mostBytes?: number]
): typeof fetch {
  const asked = patientFetch(patience, mostBytes);
  const own = new URL(hubUrl ?? HUB).origin;
  return (input, init) => {
    const address = input instanceof Request ? input.url : input;
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    const isForeign =
      new URL(address).origin !== own && headers.get('authorization') === `Bearer ${token ?? ''}`;
    if (!isForeign) return asked(input, init);
    headers.delete('authorization');
    return asked(input, { ...init, headers });
  };
}
