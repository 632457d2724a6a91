import { z } from 'zod';

/** Addresses of files and pages, which no training service gives to what it saved. */
const ELSEWHERE = /^(?:file|https?|ftp):/i;

/** As `tinker://RUN/weights/NAME`, or `tinker://RUN/NAME` of servers that leave the kind out. */
const PART = String.raw`(?!\.{1,2}(?:/|$))[^/\s]+`;
const ADDRESS = new RegExp(`^tinker://${PART}(?:/${PART}){1,2}$`);

/** A checkpoint as a config names it: one of a run, or the address that the training service gave it. */
export const CheckpointReference = z
  .string()
  .min(1)
  .refine((text) => !ELSEWHERE.test(text), {
    error:
      'no service loads a file or a page. Give RUN@STEP, RUN@best or RUN of this store, or the address that the service gave the checkpoint (tinker://…)',
  })
  .refine((text) => !/^tinker:/i.test(text) || ADDRESS.test(text), {
    error:
      'not the address of a checkpoint, which looks like tinker://RUN/weights/NAME. Copy it as the service, or `everstep runs checkpoints RUN --json`, gives it',
  });
