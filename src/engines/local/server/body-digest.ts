import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import type { Steps } from '../../../core/concurrency/steps';
import type { Datum } from '../../../core/datum';
import { SIZE_AT_ONCE, sizeOf } from '../../../core/datum-size';

/** Equal for equal requests, whichever codec and key order they arrived in. */
export function digestOf(value: unknown): string {
  const hash = createHash('sha256');
  update(hash, value);
  return hash.digest('base64url');
}

/** Of training data: as `digestOf`, for many small tensors, some datums at a time. */
export function* digestOfData(data: readonly Datum[]): Steps<string> {
  const hash = createHash('sha256');
  let size = 0;
  for (const datum of data) {
    updateWithDatum(hash, datum);
    size += sizeOf(datum);
    if (size < SIZE_AT_ONCE) continue;
    size = 0;
    yield;
  }
  return hash.digest('base64url');
}

function updateWithDatum(hash: Hash, datum: Datum): void {
  const { tokens, targetTokens, lossInputs, targetsPerPosition = 1, provenance } = datum;
  const inputs = Object.entries(lossInputs).sort(([one], [other]) => (one < other ? -1 : 1));
  hash.update(JSON.stringify(inputs.map(([name, { length }]) => [name, length])));
  if (targetsPerPosition > 1 || provenance) hash.update(JSON.stringify({ targetsPerPosition, provenance }));
  hash.update(`${tokens.length} ${targetTokens.length}:`).update(tokens).update(targetTokens);
  for (const [, values] of inputs) hash.update(values);
}

function update(hash: Hash, value: unknown): void {
  if (ArrayBuffer.isView(value)) {
    hash.update(`bytes ${value.byteLength}:`);
    hash.update(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  } else if (Array.isArray(value)) {
    hash.update(`list ${value.length}:`);
    for (const entry of value) update(hash, entry);
  } else if (typeof value === 'object' && value !== null) {
    updateWithEntries(hash, Object.entries(value));
  } else {
    hash.update(`${typeof value} ${JSON.stringify(value)};`);
  }
}

function updateWithEntries(hash: Hash, entries: readonly (readonly [string, unknown])[]): void {
  const present = entries.filter(([, entry]) => entry !== undefined);
  hash.update(`object ${present.length}:`);
  for (const [key, entry] of present.toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    update(hash, key);
    update(hash, entry);
  }
}
