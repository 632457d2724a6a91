/** What requests may say, and so what a checkpoint's description can say that came of them. */
import { z } from 'zod';
import { countJsonParts } from '../../../core/json-parts';

/** It stays in memory as long as what it describes. */
const MAX_METADATA_LENGTH = 262_144;
/** A list takes up to thirty times its text. */
const MAX_METADATA_PARTS = 2000;
const MAX_METADATA_KEYS = 10_000;

/** Of the protocol's int32 numbers. */
export const LARGEST_NUMBER = 2_147_483_647;
export const LARGEST_RANK = 1024;

/** zod's own record is copied key by key before its size is looked at. */
export const userMetadata = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: 'Invalid input: expected record', abort: true },
  )
  .refine((record) => JSON.stringify(record).length <= MAX_METADATA_LENGTH, {
    error: `is longer than ${MAX_METADATA_LENGTH} characters`,
    abort: true,
  })
  .refine((record) => {
    const { parts, keys } = countJsonParts(JSON.stringify(record));
    return parts <= MAX_METADATA_PARTS && keys <= MAX_METADATA_KEYS;
  }, `holds more than ${MAX_METADATA_PARTS} lists and objects, or ${MAX_METADATA_KEYS} keys`);

/** Looked at closely when a save has its turn: see `checkRecipients`. */
export const ageRecipients = z
  .array(
    z
      .string()
      .max(4096)
      .startsWith('age1', 'is no native recipient of age (age1…); SSH keys are not supported'),
  )
  .max(10);
