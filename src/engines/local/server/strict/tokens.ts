import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';

/** The short-lived tokens that a key is exchanged for: JWTs that say when they end. */
export class Tokens {
  private readonly secret = randomBytes(32);
  private readonly issued = new Map<string, number>();

  constructor(private readonly lifeMs: number) {}

  issue(now: number): string {
    this.dropEnded(now);
    const id = randomUUID();
    this.issued.set(id, now + this.lifeMs);
    const claims = { jti: id, iat: now / 1000, exp: (now + this.lifeMs) / 1000 };
    const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
    return `${content}.${this.sign(content)}`;
  }

  isGood(token: string, now: number): boolean {
    const [head = '', claims = '', signature = ''] = token.split('.');
    const isOurs = isEqual(signature, this.sign(`${head}.${claims}`));
    return isOurs && (this.issued.get(idOf(claims)) ?? 0) > now;
  }

  /** As if all of them had ended before their time. */
  revokeAll(): void {
    this.issued.clear();
  }

  private sign(content: string): string {
    return createHmac('sha256', this.secret).update(content).digest('base64url');
  }

  private dropEnded(now: number): void {
    for (const [id, end] of this.issued) if (end <= now) this.issued.delete(id);
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Of claims whose signature was found to be ours. */
function idOf(claims: string): string {
  return /"jti":"([\w-]+)"/.exec(Buffer.from(claims, 'base64url').toString('utf8'))?.[1] ?? '';
}

function isEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
