import { reachesPrototype } from './json-flaws';

const BYTE_ORDER_MARK = 0xfeff;

/** What the text of a request says; undefined where it is no JSON, or would change the prototype of what is made of it. */
export function parseRequestJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text);
    return reachesPrototype(text, value) ? undefined : value;
  } catch {
    return undefined;
  }
}
