import { setImmediate as nextTurn } from 'node:timers/promises';
import { untilAborted } from '../../core/concurrency/until-aborted';
import type { EncodingLimits } from '../../core/tokenizer';
import { TooManyTokens } from '../../core/tokenizer';
import type { ChatTokenizer } from './hugging-face-tokenizer';

/** Encodes a text elsewhere, in the same tokens. */
export interface TextEncoding {
  encode(question: { readonly text: string; readonly allowSpecial: boolean }): Promise<number[]>;
}

/** Longer texts are encoded elsewhere; of shorter ones so much in a turn. It takes about a tenth of a second. */
const TURN_CHARACTERS = 65_536;

/**
 * A tokenizer whose work takes turns with that of others, however large its texts.
 *
 * Renderers encode at once. Where that would take long, their work is broken off, what it wanted encoded is encoded so that
 * others can go on, and the work is begun anew, with all that was encoded before at hand.
 */
export class TurnTakingTokenizer implements ChatTokenizer {
  readonly vocabSize: number;
  readonly bosToken: string | null;
  readonly eosToken: string | null;
  readonly eosTokenId: number | null;
  readonly chatTemplate: string | null;
  readonly source: string;
  private turn: Turn | null = null;

  constructor(
    private readonly tokenizer: ChatTokenizer,
    private readonly elsewhere: TextEncoding,
  ) {
    this.vocabSize = tokenizer.vocabSize;
    this.bosToken = tokenizer.bosToken;
    this.eosToken = tokenizer.eosToken;
    this.eosTokenId = tokenizer.eosTokenId;
    this.chatTemplate = tokenizer.chatTemplate;
    this.source = tokenizer.source;
  }

  get longestToken(): number | null {
    return this.tokenizer.longestToken;
  }

  encode(text: string, options: { readonly allowSpecial?: boolean } = {}): number[] {
    const allowSpecial = options.allowSpecial === true;
    return this.turn ? this.turn.encode(text, allowSpecial) : this.tokenizer.encode(text, { allowSpecial });
  }

  decode(tokens: readonly number[], options?: { readonly skipSpecial?: boolean }): string {
    return this.tokenizer.decode(tokens, options);
  }

  isSpecial(token: number): boolean {
    return this.tokenizer.isSpecial(token);
  }

  async inTurns<Result>(work: () => Result, limits: EncodingLimits = {}): Promise<Result> {
    const known = new KnownTexts();
    for (;;) {
      limits.signal?.throwIfAborted();
      const turn = new Turn(this.tokenizer, known, limits);
      try {
        return this.take(turn, work);
      } catch (error) {
        if (!(error instanceof TurnOver)) throw error;
        await this.obtain(error.large, known, limits.signal);
      }
    }
  }

  private take<Result>(turn: Turn, work: () => Result): Result {
    this.turn = turn;
    try {
      return work();
    } finally {
      this.turn = null;
    }
  }

  private async obtain(
    large: EncodedText | null,
    known: KnownTexts,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (large === null) {
      await nextTurn();
      return;
    }
    const encoding = this.elsewhere.encode(large);
    known.add(large, await (signal ? untilAborted(encoding, signal) : encoding));
  }
}

interface EncodedText {
  readonly text: string;
  readonly allowSpecial: boolean;
}

class KnownTexts {
  private readonly plain = new Map<string, number[]>();
  private readonly special = new Map<string, number[]>();

  get({ text, allowSpecial }: EncodedText): number[] | undefined {
    return (allowSpecial ? this.special : this.plain).get(text);
  }

  add({ text, allowSpecial }: EncodedText, tokens: number[]): number[] {
    (allowSpecial ? this.special : this.plain).set(text, tokens);
    return tokens;
  }
}

/** Breaks work off. */
class TurnOver extends Error {
  constructor(readonly large: EncodedText | null) {
    super('Others are to go on.');
  }
}

class Turn {
  private encodedCharacters = 0;

  constructor(
    private readonly tokenizer: ChatTokenizer,
    private readonly known: KnownTexts,
    private readonly limits: EncodingLimits,
  ) {}

  encode(whole: string, allowSpecial: boolean): number[] {
    const wanted = { text: this.ofUse(whole), allowSpecial };
    const known = this.known.get(wanted);
    if (known) return known;
    if (wanted.text.length > TURN_CHARACTERS) throw new TurnOver(wanted);
    if (this.encodedCharacters > TURN_CHARACTERS) throw new TurnOver(null);
    this.encodedCharacters += wanted.text.length;
    return this.known.add(wanted, this.tokenizer.encode(wanted.text, { allowSpecial }));
  }

  /** All of a text, or what has more tokens than are of use. The last ones of twice as many are others where the text goes on. */
  private ofUse(text: string): string {
    const { mostTokens = Infinity, isCutAllowed = false } = this.limits;
    const { longestToken } = this.tokenizer;
    if (longestToken === null) return text;
    const leastTokens = Math.ceil(text.length / longestToken);
    if (isCutAllowed)
      return leastTokens <= 2 * mostTokens ? text : cutAt(text, 2 * (mostTokens + 1) * longestToken);
    if (leastTokens > mostTokens) throw new TooManyTokens(leastTokens);
    return text;
  }
}

/** Never between the halves of a character. */
function cutAt(text: string, end: number): string {
  return text.slice(0, /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end);
}
