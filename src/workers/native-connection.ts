import type { NativeConnectionOptions } from '@temporalio/worker';
import type { TemporalAddress } from '../config/temporal-connection';

/** Temporal's environment configuration in the form workers take it. */
export function nativeConnectionOptions(server: TemporalAddress): NativeConnectionOptions {
  const { address, tls, apiKey, metadata } = server;
  return {
    address,
    ...(tls !== undefined && { tls }),
    ...(apiKey !== undefined && { apiKey }),
    ...(metadata && { metadata }),
  };
}
