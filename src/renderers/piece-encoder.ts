import type { Tokenizer } from '../core/tokenizer';
import type { Piece } from './message-format';

interface Run {
  readonly isControl: boolean;
  text: string;
  /** Nothing may be joined to this run, or a control token would come of it. */
  readonly isClosed: boolean;
}

/**
 * Turns the pieces of a message into tokens. What stands between two control tokens is encoded in one go, as it is when
 * a model's own template is encoded, so that a line break of the layout merges with the words before it.
 */
export class PieceEncoder {
  private readonly controls: ReadonlySet<string>;
  private readonly pattern: RegExp | null;
  /** Control tokens this tokenizer finds in plain text too, because it does not call them special. */
  private readonly forgeable: RegExp | null;
  /** Words of a reply that are tokens, which this tokenizer does not find in plain text. */
  private readonly hiddenWords: RegExp | null;

  constructor(
    private readonly tokenizer: Tokenizer,
    controlTokens: readonly string[],
    /** Control tokens that a reply may hold as text, such as `<think>`. */
    wordTokens: readonly string[] = [],
  ) {
    this.controls = new Set(controlTokens);
    this.pattern = anyOf(controlTokens);
    const isFound = (token: string) => tokenizer.encode(token).length === 1;
    this.forgeable = anyOf(controlTokens.filter((token) => !wordTokens.includes(token) && isFound(token)));
    this.hiddenWords = anyOf(controlTokens.filter((token) => wordTokens.includes(token) && !isFound(token)));
  }

  encode(pieces: readonly Piece[]): number[] {
    const runs: Run[] = [];
    for (const piece of pieces) {
      if (typeof piece === 'string') this.addLayout(runs, piece);
      else if (piece.isAlone) addPlain(runs, piece.written, true);
      else this.addWritten(runs, piece.written);
    }
    return runs.flatMap(({ text, isControl }) => this.tokenizer.encode(text, { allowSpecial: isControl }));
  }

  private addLayout(runs: Run[], text: string): void {
    const parts = this.pattern ? text.split(this.pattern) : [text];
    for (const part of parts) {
      if (this.controls.has(part)) runs.push({ isControl: true, text: part, isClosed: true });
      else addPlain(runs, part, false);
    }
  }

  private addWritten(runs: Run[], text: string): void {
    for (const part of this.hiddenWords ? text.split(this.hiddenWords) : [text]) {
      if (this.hiddenWords?.test(part)) runs.push({ isControl: true, text: part, isClosed: true });
      else this.addWords(runs, part);
    }
  }

  /** A control token spelled out in a message is cut after its first letter, so that it stays a word. */
  private addWords(runs: Run[], text: string): void {
    if (!this.forgeable) {
      addPlain(runs, text, false);
      return;
    }
    for (const part of text.split(this.forgeable)) {
      if (!this.controls.has(part)) {
        addPlain(runs, part, false);
        continue;
      }
      const [first = ''] = part;
      addPlain(runs, first, true);
      addPlain(runs, part.slice(first.length), false);
    }
  }
}

function addPlain(runs: Run[], text: string, isClosed: boolean): void {
  if (text === '') return;
  const last = runs.at(-1);
  if (last && !last.isClosed && !isClosed) last.text += text;
  else runs.push({ isControl: false, text, isClosed });
}

/** Matches any of some texts and keeps them when splitting. */
function anyOf(texts: readonly string[]): RegExp | null {
  if (texts.length === 0) return null;
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  return new RegExp(`(${longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`);
}
