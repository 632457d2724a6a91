import { createHash } from 'node:crypto';
import type { BatchUpdate } from '../step-batch';

/** SHA-256 of everything the loss of a step is computed from: tokens, targets, inputs, their order and their cuts. */
export function lossInputsDigest(updates: readonly BatchUpdate[]): string {
  const hash = createHash('sha256');
  for (const { parts, lossFn, lossFnConfig = {} } of updates) {
    const settings = Object.entries(lossFnConfig).sort(([left], [right]) => (left < right ? -1 : 1));
    hash.update(JSON.stringify([lossFn, settings, parts.map((part) => part.length)]));
    for (const { tokens, targetTokens, lossInputs } of parts.flat()) {
      hash.update(String(tokens.length)).update(tokens).update(targetTokens);
      for (const name of Object.keys(lossInputs).sort()) hash.update(name).update(lossInputs[name] ?? '');
    }
  }
  return hash.digest('hex');
}
