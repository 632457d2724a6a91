import { z } from 'zod';

/** Addresses of files and pages, which no training service gives to what it saved. */
const ELSEWHERE = /^(?:file|https?|ftp):/i;

/** A checkpoint as a config names it: one of a run, or the address that the training service gave it. */
export const CheckpointReference = z
  .string()
  .min(1)
  .refine((text) => !ELSEWHERE.test(text), {
    error:
      'no service loads a file or a page. Give RUN@STEP, RUN@best or RUN of this store, or the address that the service gave the checkpoint (tinker://…)',
  });
