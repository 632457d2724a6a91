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

interface ClosingAtEnd {
  readonly line: number;
  readonly fence: string;
  readonly rest: string;
}

/** Of lines in their order those of one kind; what has been passed is not looked at again. */
class Ahead<Each extends { readonly line: number }> {
  private next = 0;

  constructor(
    private readonly lines: readonly Each[],
    private readonly isOne: (each: Each) => boolean,
  ) {}

  from(first: number): Each | null {
    for (; this.next < this.lines.length; this.next++) {
      const each = this.lines[this.next];
      if (each && each.line >= first && this.isOne(each)) return each;
    }
    return null;
  }
}

/**
 * What may close the fences of a text, which are asked about in its order: each line is looked at once for all fences of the same kind,
 * however many there are.
 */
export class Closings {
  private readonly closings: readonly ClosingLine[];
  private readonly closingsAtEnd: readonly ClosingAtEnd[];
  private readonly isOddAt: readonly boolean[];
  private readonly known = new Map<string, Ahead<ClosingLine>>();
  private readonly knownAtEnd = new Map<string, Ahead<ClosingAtEnd>>();

  constructor(texts: readonly string[]) {
    this.isOddAt = oddQuotes(texts);
    this.closings = texts.flatMap((text, line) => {
      const fence = CLOSING.exec(text)?.[1];
      const isOdd = this.isOddAt[line] === true;
      return fence === undefined ? [] : [{ line, fence, indent: text.indexOf(fence), isOdd }];
    });
    this.closingsAtEnd = texts.flatMap((text, line) => {
      const [, rest = '', fence] = CLOSING_AT_END.exec(text) ?? [];
      return fence === undefined ? [] : [{ line, rest, fence }];
    });
  }

  /** From a line on; within a text of three quotes that begins there only where no other closes; null where none does. */
  from(first: number, opened: OpenedFence): Closing | null {
    const isOdd = this.isOddAt[first] === true;
    const found = this.ahead(opened, isOdd).from(first) ?? this.ahead(opened, !isOdd).from(first);
    if (found) return { line: found.line, rest: null };
    const atEnd = this.aheadAtEnd(opened.fence).from(first);
    return atEnd && { line: atEnd.line, rest: atEnd.rest };
  }

  private ahead({ fence, indent }: OpenedFence, isOdd: boolean): Ahead<ClosingLine> {
    const isOne = (each: ClosingLine) =>
      each.isOdd === isOdd && each.fence.startsWith(fence) && each.indent < indent + CODE_INDENT;
    return known(this.known, `${fence} ${indent} ${isOdd}`, () => new Ahead(this.closings, isOne));
  }

  private aheadAtEnd(opened: string): Ahead<ClosingAtEnd> {
    return known(
      this.knownAtEnd,
      opened,
      () => new Ahead(this.closingsAtEnd, ({ fence }) => fence === opened),
    );
  }
}

function known<Found>(all: Map<string, Found>, key: string, make: () => Found): Found {
  const found = all.get(key) ?? make();
  all.set(key, found);
  return found;
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
