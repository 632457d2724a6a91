import type { TemporalAddress } from '../config/temporal-connection';
import type { Known } from './known-options';

export interface ConnectOptions {
  /** Temporal server; default TEMPORAL_ADDRESS or Temporal's environment configuration, else what `everstep dev` runs. */
  readonly address?: string;
  readonly namespace?: string;
  /** Full connection options instead of `address`; null for none: everything is answered from the store. */
  readonly temporal?: TemporalAddress | null;
  /** Folder of runs; default `--store`, EVERSTEP_STORE, else `<data folder>/store`. */
  readonly store?: string;
  /** State folder; default EVERSTEP_HOME, else `.everstep`. */
  readonly dataFolder?: string;
  /** Whether endpoints are looked at before what asks them is started, and refused where they cannot answer; default true. */
  readonly looksAtEndpoints?: boolean;
}

export const CONNECT_OPTIONS: Known<ConnectOptions> = {
  ...{ address: true, namespace: true, temporal: true },
  ...{ store: true, dataFolder: true, looksAtEndpoints: true },
};
