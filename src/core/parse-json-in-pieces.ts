import type { Steps } from './concurrency/steps';
import { endOfJsonString } from './json-parts';

/** Characters that are parsed at once. */
const PIECE = 1_000_000;
/** What lies deeper is parsed whole: training data is seven deep. */
const DEEPEST_CUT = 16;

const CODE = { quote: 0x22, comma: 0x2c, list: 0x5b, listEnd: 0x5d, object: 0x7b, objectEnd: 0x7d } as const;
const NOT_BLANK = /[^ \t\n\r]/g;

/** What `JSON.parse` makes of the text, a part of its members at a time. Throws a SyntaxError for what is no JSON. */
export function* parseJsonInPieces(text: string, piece = PIECE): Steps<unknown> {
  const start = notBlank(text, 0);
  if (text.length <= piece || !isOpening(text.charCodeAt(start))) return parseWhole(text);
  const reader = new PieceReader(text, piece);
  const value = yield* reader.container(start, 1);
  if (notBlank(text, reader.at) < text.length) throw unexpected(text, reader.at);
  return value;
}

function parseWhole(text: string): unknown {
  return JSON.parse(text);
}

/** Where a look along the members of a list or object comes to: a comma or an end that enough lies before, or a member that is too long. */
interface Stop {
  readonly kind: 'comma' | 'end' | 'inner';
  readonly index: number;
  /** Where the member begins that it is in. */
  readonly head: number;
}

class PieceReader {
  /** What is before it has been parsed. */
  at = 0;

  constructor(
    private readonly text: string,
    private readonly piece: number,
  ) {}

  /** The list or object that begins there. */
  *container(start: number, depth: number): Steps<unknown> {
    const isList = this.text.charCodeAt(start) === CODE.list;
    const members = isList ? new ListMembers() : new ObjectMembers();
    this.at = start + 1;
    for (let isOpen = true; isOpen;) {
      const stop = this.nextStop(depth);
      if (stop.kind === 'inner') {
        if (stop.head > this.at) members.add(this.text.slice(this.at, stop.head - 1));
        yield;
        const place = members.placeOf(this.text.slice(stop.head, stop.index));
        members.set(place, yield* this.container(stop.index, depth + 1));
        this.at = notBlank(this.text, this.at);
      } else {
        const isEmpty = members.isEmpty && notBlank(this.text, this.at) === stop.index;
        if (!isEmpty || stop.kind === 'comma') members.add(this.text.slice(this.at, stop.index));
        this.at = stop.index;
      }
      isOpen = this.goOn(isList);
      yield;
    }
    return members.value();
  }

  /** Past a comma or an end; false behind the end. */
  private goOn(isList: boolean): boolean {
    const code = this.text.charCodeAt(this.at);
    if (code !== CODE.comma && code !== (isList ? CODE.listEnd : CODE.objectEnd))
      throw unexpected(this.text, this.at);
    this.at++;
    return code === CODE.comma;
  }

  private nextStop(depth: number): Stop {
    const { text, piece } = this;
    let head = this.at;
    for (let index = head; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code === CODE.comma) {
        if (index - this.at >= piece) return { kind: 'comma', index, head };
        head = index + 1;
      } else if (isEnd(code)) return { kind: 'end', index, head };
      else {
        const end = this.endOfPart(index, depth);
        if (end === null) return { kind: 'inner', index, head };
        index = end;
      }
    }
    throw unexpected(text, text.length);
  }

  /** Where the string, list or object ends that begins there, or the character itself; null for what is to be read in pieces. */
  private endOfPart(index: number, depth: number): number | null {
    const { text, piece } = this;
    const code = text.charCodeAt(index);
    if (code === CODE.quote) return endOfJsonString(text, index);
    if (!isOpening(code)) return index;
    if (depth < DEEPEST_CUT) return endOfContainer(text, index, Math.min(index + piece, text.length));
    const end = endOfContainer(text, index, text.length);
    if (end === null) throw unexpected(text, text.length);
    return end;
  }
}

/** Those of a list that have been parsed so far. */
class ListMembers {
  /** Joined at the end: there may be millions. */
  private readonly lists: (readonly unknown[])[] = [];

  get isEmpty(): boolean {
    return this.lists.length === 0;
  }

  add(text: string): void {
    const part: unknown = JSON.parse(`[${text}]`);
    if (!Array.isArray(part) || part.length === 0) throw new SyntaxError('A member is missing.');
    this.lists.push(part);
  }

  /** Of the member that has this before its value. */
  placeOf(text: string): string {
    if (notBlank(text, 0) < text.length) throw unexpected(text, 0);
    return '';
  }

  set(_place: string, value: unknown): void {
    this.lists.push([value]);
  }

  value(): unknown {
    return new Array<unknown>().concat(...this.lists);
  }
}

/** The same of an object. Set one by one, a member could change the prototype. */
class ObjectMembers {
  private readonly entries: (readonly [string, unknown])[] = [];

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  add(text: string): void {
    const part = entriesOf(`{${text}}`);
    if (part.length === 0) throw new SyntaxError('A member is missing.');
    for (const entry of part) this.entries.push(entry);
  }

  placeOf(text: string): string {
    const [entry] = entriesOf(`{${text}[]}`);
    if (!entry) throw unexpected(text, 0);
    return entry[0];
  }

  set(place: string, value: unknown): void {
    this.entries.push([place, value]);
  }

  value(): unknown {
    return Object.fromEntries(this.entries);
  }
}

function entriesOf(text: string): [string, unknown][] {
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null ? Object.entries<unknown>({ ...value }) : [];
}

/** Position of the bracket that ends what begins there; null where none does before the limit. */
function endOfContainer(text: string, start: number, limit: number): number | null {
  let depth = 0;
  for (let index = start; index < limit; index++) {
    const code = text.charCodeAt(index);
    if (code === CODE.quote) index = endOfJsonString(text, index);
    else if (isOpening(code)) depth++;
    else if (isEnd(code) && --depth === 0) return index;
  }
  return null;
}

function isOpening(code: number): boolean {
  return code === CODE.list || code === CODE.object;
}

function isEnd(code: number): boolean {
  return code === CODE.listEnd || code === CODE.objectEnd;
}

/** Position of the first character from there on that is no blank; the text's length where none is. */
function notBlank(text: string, from: number): number {
  NOT_BLANK.lastIndex = from;
  return NOT_BLANK.exec(text)?.index ?? text.length;
}

function unexpected(text: string, at: number): SyntaxError {
  const what = at < text.length ? `Unexpected ${JSON.stringify(text[at])}` : 'Unexpected end';
  return new SyntaxError(`${what} at position ${at} of JSON text.`);
}
