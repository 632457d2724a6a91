const CLOSING = /^[ \t>]*(`{3,}|~{3,})[ \t\r]*$/;
/** Behind the last line of code. */
const CLOSING_AT_END = /^(.*[^`])(`{3,})[ \t\r]*$/;
const TRIPLE_QUOTES = /"""|'''/g;
/** A closing fence is indented less than this beyond its opening one, else it is code. */
const CODE_INDENT = 4;

export interface OpenedFence {
  readonly fence: string;
  readonly indent: number;
}

/** The line that closes, and what of it is code. */
export interface Closing {
  readonly line: number;
  readonly rest: string | null;
}

interface ClosingLine {
  readonly line: number;
  readonly fence: string;
  readonly indent: number;
  /** Whether an odd number of threefold quotes stands before it. */
  readonly isOdd: boolean;
}

/** Lines in their order; those that have been passed are not looked at again. */
class Ahead<Each extends { readonly line: number }> {
  private next = 0;

  constructor(private readonly lines: readonly Each[]) {}

  from(first: number): Each | null {
    while ((this.lines[this.next]?.line ?? first) < first) this.next++;
    return this.lines[this.next] ?? null;
  }
}

/**
 * What may close the fences of a text, which are asked about in its order: each line is looked at once for all fences of the same kind,
 * however many there are.
 */
export class Closings {
  private readonly closings: readonly ClosingLine[];
  private readonly isOddAt: readonly boolean[];
  private readonly known = new Map<string, Ahead<ClosingLine>>();
  private readonly knownAtEnd = new Map<string, Ahead<Closing>>();

  constructor(private readonly texts: readonly string[]) {
    this.isOddAt = oddQuotes(texts);
    this.closings = texts.flatMap((text, line) => {
      const fence = CLOSING.exec(text)?.[1];
      const isOdd = this.isOddAt[line] === true;
      return fence === undefined ? [] : [{ line, fence, indent: text.indexOf(fence), isOdd }];
    });
  }

  /** From a line on; within a text of three quotes that begins there only where no other closes; null where none does. */
  from(first: number, opened: OpenedFence): Closing | null {
    const isOdd = this.isOddAt[first] === true;
    const found = this.ahead(opened, isOdd).from(first) ?? this.ahead(opened, !isOdd).from(first);
    return found ? { line: found.line, rest: null } : this.aheadAtEnd(opened.fence).from(first);
  }

  private ahead({ fence, indent }: OpenedFence, isOdd: boolean): Ahead<ClosingLine> {
    const isOne = (each: ClosingLine) =>
      each.isOdd === isOdd && each.fence.startsWith(fence) && each.indent < indent + CODE_INDENT;
    return known(this.known, `${fence} ${indent} ${isOdd}`, () => this.closings.filter(isOne));
  }

  private aheadAtEnd(opened: string): Ahead<Closing> {
    return known(this.knownAtEnd, opened, () =>
      this.texts.flatMap((text, line) => {
        const [, rest = '', fence] = CLOSING_AT_END.exec(text) ?? [];
        return fence === opened ? [{ line, rest }] : [];
      }),
    );
  }
}

function known<Each extends { readonly line: number }>(
  all: Map<string, Ahead<Each>>,
  key: string,
  find: () => readonly Each[],
): Ahead<Each> {
  const ahead = all.get(key) ?? new Ahead(find());
  all.set(key, ahead);
  return ahead;
}

/** Of each line whether an odd number of threefold quotes stands before it. */
function oddQuotes(texts: readonly string[]): readonly boolean[] {
  let isOdd = false;
  return texts.map((text) => {
    const wasOdd = isOdd;
    if ((text.match(TRIPLE_QUOTES)?.length ?? 0) % 2 === 1) isOdd = !isOdd;
    return wasOdd;
  });
}
