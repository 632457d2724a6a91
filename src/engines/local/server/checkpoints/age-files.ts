import { Readable } from 'node:stream';
import { setImmediate as others } from 'node:timers/promises';
import type { Encrypter } from 'age-encryption';
import { DomainError } from '../../../../core/errors';

/** What age encrypts at a time. */
const CHUNK_BYTES = 65_536;

export interface EncryptedFile {
  readonly content: Readable;
  /** Bytes of `content`. */
  readonly size: number;
}

/** Throws `request-failed` (category user) where one of them is no age recipient that files can be encrypted to. */
export async function checkRecipients(recipients: readonly string[]): Promise<void> {
  if (recipients.length > 0) await encrypterTo(recipients);
}

/**
 * A file as `age -d` reads it (https://age-encryption.org/v1). Each call draws a key, so that the bytes differ.
 *
 * It is encrypted as it is read, with room for other requests in between: a megabyte takes some hundredths of a second.
 */
export async function encryptFile(plain: Uint8Array, recipients: readonly string[]): Promise<EncryptedFile> {
  const encrypter = await encrypterTo(recipients);
  const encrypted = await encrypter.encrypt(Readable.toWeb(Readable.from(chunksOf(plain))));
  return {
    content: Readable.fromWeb(encrypted),
    size: encrypted.size(plain.byteLength),
  };
}

/** The package is loaded with the first file to encrypt: it is slow to start. */
async function encrypterTo(recipients: readonly string[]): Promise<Encrypter> {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new DomainError(
        'request-failed',
        `age_encryption_recipients: "${recipient.slice(0, 100)}" is no recipient of age (${why}). Give what age-keygen prints as the public key.`,
        { category: 'user', cause: error },
      );
    }
  }
  return encrypter;
}

async function* chunksOf(plain: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < plain.byteLength; start += CHUNK_BYTES) {
    await others();
    yield plain.subarray(start, start + CHUNK_BYTES);
  }
}
