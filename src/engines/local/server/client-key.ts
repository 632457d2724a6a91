import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The key that clients of an engine have to show, and links that whoever shows it can give away. */
export class ClientKey {
  constructor(private readonly key: string) {}

  /** As clients of the protocol show it (`X-API-Key`), or as other programs do (`Authorization: Bearer`). */
  isShownIn(headers: IncomingHttpHeaders): boolean {
    const shown = headers['x-api-key'] ?? /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
    return typeof shown === 'string' && isSame(shown, this.key);
  }

  /** The address with a signature, good until `expires`, in milliseconds. */
  signed(path: string, expires: number): string {
    return `${path}?expires=${expires}&signature=${this.sign(path, expires)}`;
  }

  /** `address` is a path with its query, as a request has it. */
  isSigned(address: string, now: number): boolean {
    const [path = '', query = ''] = address.split('?', 2);
    const given = new URLSearchParams(query);
    const expires = Number(given.get('expires'));
    const signature = given.get('signature');
    return signature !== null && expires > now && isSame(signature, this.sign(path, expires));
  }

  private sign(path: string, expires: number): string {
    return createHmac('sha256', this.key).update(`${path} ${expires}`).digest('base64url');
  }
}

/** Takes the same time wherever they differ. */
function isSame(shown: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(shown), digest(expected));
}
