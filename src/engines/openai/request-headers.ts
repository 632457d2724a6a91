import { EVERSTEP_VERSION } from '../../core/version';

/** Local servers need no key; a header with an empty one would be refused. */
export function endpointHeaders(apiKey: string | undefined): Record<string, string> {
  const key = apiKey?.trim() ?? '';
  return {
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': `everstep/${EVERSTEP_VERSION}`,
    ...(key !== '' && { authorization: `Bearer ${key}` }),
  };
}
