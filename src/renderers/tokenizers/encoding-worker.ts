import { parentPort, workerData } from 'node:worker_threads';
import { DomainError } from '../../core/errors';
import type { ErrorCode } from '../../core/errors';
import { createTokenizer } from './create-tokenizer';
import type { FilesOfTokenizer } from './create-tokenizer';

/** The entry of an encoding thread: it answers one text at a time and keeps no state between them. */

export interface EncodingQuestion {
  readonly text: string;
  readonly allowSpecial: boolean;
}

export type EncodingAnswer =
  { readonly tokens: Int32Array } | { readonly error: string; readonly code: ErrorCode | null };

function serve(files: FilesOfTokenizer): void {
  const tokenizer = createTokenizer(files);
  parentPort?.on('message', ({ text, allowSpecial }: EncodingQuestion) => {
    parentPort?.postMessage(answer(() => Int32Array.from(tokenizer.encode(text, { allowSpecial }))));
  });
}

function answer(encode: () => Int32Array): EncodingAnswer {
  try {
    return { tokens: encode() };
  } catch (error) {
    const code = error instanceof DomainError ? error.code : null;
    return { error: error instanceof Error ? error.message : String(error), code };
  }
}

// Imported for its types by the main thread, this file starts nothing.
if (parentPort !== null) {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- workerData is `any`; only EncodingThread starts this file
  serve(workerData as FilesOfTokenizer);
}
