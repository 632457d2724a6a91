import { refuseKeyInAddress } from '../config/engine-address';
import { OFFICIAL_SERVICE } from '../core/official-service';
import type { Environment } from '../config/environment';
import type { ErrorCode } from '../core/errors';
import { DomainError } from '../core/errors';
import { createTinkerClient } from '../engines/tinker/client';
import type { Finding } from './finding';
import { findStack } from './stack-record';

const LIMIT_MS = 3000;

const REMEDIES: Partial<Record<ErrorCode, string>> = {
  'payment-required': 'Add credit to the account of TINKER_API_KEY.',
  'protocol-error': "It speaks another protocol, or look at the service's log.",
};

interface Service {
  readonly name: string;
  readonly url: string;
  /** What a wrong address is corrected in. */
  readonly source: string;
  readonly apiKey: string | null;
  /** By a person or a stack, rather than guessed from the key. */
  readonly isNamed: boolean;
}

/** Whether address and key of the training service work, by calls that cost nothing. */
export async function diagnoseEngine(environment: Environment): Promise<Finding[]> {
  const services = servicesOf(environment);
  if (services.length === 0) {
    return [{ name: 'engine', status: 'ok', found: 'none running; the local one starts with a stack' }];
  }
  return Promise.all(services.map(diagnoseService));
}

/** The one that is named, or the local one; with a key and no name the official one too. */
function servicesOf({ engineUrl, engineApiKey, dataFolder }: Environment): Service[] {
  if (engineUrl !== null)
    return [
      { name: 'engine', url: engineUrl, source: 'TINKER_BASE_URL', apiKey: engineApiKey, isNamed: true },
    ];
  const local = findStack(dataFolder)?.engineUrl;
  const official = {
    name: 'tinker service',
    url: OFFICIAL_SERVICE,
    source: 'the network',
    apiKey: engineApiKey,
  };
  return [
    ...(local === undefined
      ? []
      : [{ name: 'engine', url: local, source: 'the stack', apiKey: null, isNamed: true }]),
    ...(engineApiKey === null ? [] : [{ ...official, isNamed: false }]),
  ];
}

async function diagnoseService(service: Service): Promise<Finding> {
  const { name, url, source } = service;
  try {
    refuseKeyInAddress(source, url);
    return { name, ...(await askModels(service)) };
  } catch (error) {
    const failure = error instanceof DomainError ? error : slow(url);
    // A key lies in the environment also where only the local engine is used.
    const isMissing = service.isNamed || failure.code !== 'unreachable';
    return { name, status: isMissing ? 'missing' : 'note', ...explained(failure, service) };
  }
}

async function askModels({ url, apiKey }: Service): Promise<Omit<Finding, 'name'>> {
  const waits = new Set<string>();
  const client = createTinkerClient({
    baseUrl: url,
    unreachableAfterMs: LIMIT_MS / 2,
    onWait: (waiting) => {
      if (waiting) waits.add(waiting.what);
    },
    ...(apiKey !== null && { apiKey }),
  });
  try {
    const models = await client.capabilities({ signal: AbortSignal.timeout(LIMIT_MS) });
    const names = models.map((model) => model.name).join(', ');
    const how = apiKey === null ? 'answers' : 'the address answers and the key works';
    return { status: 'ok', found: `${url}: ${how}; models: ${names || 'none listed'}` };
  } catch (error) {
    if (waits.has('billing')) throw unpaid(url);
    throw error;
  } finally {
    await client.close();
  }
}

function slow(url: string): DomainError {
  return new DomainError('unreachable', `${url}: nothing helpful came back in ${LIMIT_MS / 1000} s.`);
}

function unpaid(url: string): DomainError {
  return new DomainError(
    'payment-required',
    `${url} answers, and asks for payment (402): the balance of the account is used up`,
  );
}

function explained(
  { code, message }: DomainError,
  { url, source, apiKey }: Service,
): Pick<Finding, 'found' | 'remedy'> {
  const remedy = REMEDIES[code];
  if (code === 'unauthorized') {
    return apiKey === null
      ? { found: `${url} answers, and asks for a key`, remedy: 'Set TINKER_API_KEY.' }
      : { found: `${url} answers, and refuses the key`, remedy: 'Correct TINKER_API_KEY.' };
  }
  return { found: message, remedy: remedy ?? `Start it, or correct ${source}.` };
}
