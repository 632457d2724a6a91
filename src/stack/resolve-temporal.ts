import { readTemporalAddress } from '../config/temporal-connection';
import type { TemporalAddress } from '../config/temporal-connection';
import { findStack } from './stack-record';
import type { StackRecord } from './stack-record';

export type TemporalChoice =
  /** Configured by a person: nothing of ours is started. */
  | { readonly from: 'configuration'; readonly target: TemporalAddress }
  /** The stack that lives on the data folder. */
  | { readonly from: 'stack'; readonly target: TemporalAddress; readonly stack: StackRecord }
  /** Neither: a command that needs a server starts an embedded stack for itself. */
  | { readonly from: 'nothing' };

/** Who connects where: TEMPORAL_ADDRESS or Temporal's configuration, else the recorded stack, else nothing yet. */
export function resolveTemporal(dataFolder: string): TemporalChoice {
  const configured = readTemporalAddress();
  if (configured !== null) return { from: 'configuration', target: configured };
  const stack = findStack(dataFolder);
  if (stack === null) return { from: 'nothing' };
  return { from: 'stack', target: stackAddress(stack), stack };
}

export function stackAddress(stack: StackRecord): TemporalAddress {
  return { address: stack.temporalAddress, namespace: stack.namespace };
}
