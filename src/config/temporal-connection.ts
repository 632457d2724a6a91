import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DomainError } from '../core/errors';
import type { Variables } from './environment';

export const DEFAULT_NAMESPACE = 'everstep';

interface TlsOptions {
  readonly serverNameOverride?: string;
  readonly serverRootCACertificate?: Buffer;
  readonly clientCertPair?: { readonly crt: Buffer; readonly key: Buffer };
}

/** How to reach a Temporal server; understood by Connection.connect and NativeConnection.connect alike. */
export interface TemporalAddress {
  readonly address: string;
  readonly namespace: string;
  readonly tls?: boolean | TlsOptions;
  readonly apiKey?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * The server a person configured with TEMPORAL_ADDRESS or Temporal's environment configuration (variables and
 * `temporal.toml` profiles, as every other Temporal tool reads them); null when none is configured.
 */
export function readTemporalAddress(variables: Variables = process.env): TemporalAddress | null {
  const { connectionOptions, namespace } = load(variables);
  if (!connectionOptions.address) return null;
  const { tls, apiKey, metadata } = connectionOptions;
  return {
    address: connectionOptions.address,
    namespace: namespace ?? DEFAULT_NAMESPACE,
    ...(tls == null ? {} : { tls: typeof tls === 'boolean' ? tls : plainTls(tls) }),
    ...(typeof apiKey === 'string' ? { apiKey } : {}),
    ...(metadata ? { metadata: plainMetadata(metadata) } : {}),
  };
}

type LoadedConfig = ReturnType<typeof loadClientConnectConfig>;
type LoadedOptions = LoadedConfig['connectionOptions'];
type LoadedTls = Exclude<NonNullable<LoadedOptions['tls']>, boolean>;

function load(variables: Variables): LoadedConfig {
  const overrideEnvVars: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables))
    if (value !== undefined) overrideEnvVars[name] = value;
  try {
    return loadClientConnectConfig({ overrideEnvVars });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DomainError(
      'bad-config',
      `Temporal's environment configuration cannot be read: ${reason}. Correct the TEMPORAL_* variables or temporal.toml.`,
      { cause },
    );
  }
}

function plainTls(tls: LoadedTls): TlsOptions {
  const pair = tls.clientCertPair;
  return {
    ...(tls.serverNameOverride ? { serverNameOverride: tls.serverNameOverride } : {}),
    ...(tls.serverRootCACertificate
      ? { serverRootCACertificate: Buffer.from(tls.serverRootCACertificate) }
      : {}),
    ...(pair ? { clientCertPair: { crt: Buffer.from(pair.crt), key: Buffer.from(pair.key) } } : {}),
  };
}

function plainMetadata(metadata: NonNullable<LoadedOptions['metadata']>): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, String(value)]));
}
