import { parseJson, objectFrom, stringFrom } from './codec/json-values';
import { isObject } from './codec/json-values';
import { failureOf } from './failures';
import type { HttpReply } from './transport';

/** What goes into `X-API-Key`: the key itself, or the short-lived token a server exchanges it for. */
export interface Authorization {
  key(): Promise<string | undefined>;
  /** Forgets a token that was refused, unless another call has done so already. False for the key itself. */
  renew(refused: string | undefined): boolean;
}

export interface AuthorizationOptions {
  readonly apiKey: string | undefined;
  readonly isExchanged: () => Promise<boolean>;
  /** `POST auth/token` with the key itself. */
  readonly exchange: () => Promise<HttpReply>;
}

interface Token {
  readonly text: string;
  readonly renewAt: number;
}

/** Tokens are renewed at half their life, or after this long where they do not say how long they live. */
const DEFAULT_LIFE_SECONDS = 600;

export function createAuthorization({ apiKey, isExchanged, exchange }: AuthorizationOptions): Authorization {
  let token: Promise<Token> | null = null;
  let latest: string | null = null;

  async function requestToken(): Promise<Token> {
    const reply = await exchange();
    if (reply.status !== 200) throw failureOf(reply, { what: 'auth/token', missing: 'engine-refused' });
    const body = objectFrom(parseJson(reply.body.toString('utf8'), 'auth/token'), 'auth/token');
    const text = stringFrom(body['jwt'], 'jwt');
    latest = text;
    return { text, renewAt: performance.now() + (lifeSeconds(text) / 2) * 1000 };
  }

  async function currentToken(): Promise<string> {
    const pending = token ?? requestToken();
    token = pending;
    try {
      const { text, renewAt } = await pending;
      if (performance.now() < renewAt) return text;
    } catch (error) {
      if (token === pending) token = null;
      throw error;
    }
    if (token === pending) token = null;
    return currentToken();
  }

  return {
    async key() {
      return apiKey !== undefined && (await isExchanged()) ? currentToken() : apiKey;
    },
    renew(refused) {
      if (refused === latest) {
        token = null;
        latest = null;
      }
      return refused !== undefined && refused !== apiKey;
    },
  };
}

function lifeSeconds(jwt: string): number {
  try {
    const claims: unknown = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const life = isObject(claims) ? Number(claims['exp']) - Number(claims['iat']) : Number.NaN;
    return life > 0 ? life : DEFAULT_LIFE_SECONDS;
  } catch {
    return DEFAULT_LIFE_SECONDS;
  }
}
