import { DomainError } from '../../core/errors';
import { isRecord } from '../reply-blocks';
import type { ByteRanks } from './byte-pair-merge';
import { mergeBytePairs } from './byte-pair-merge';
import type { ChatTokenizer } from './hugging-face-tokenizer';
import type { TokenizerConfig } from './tokenizer-config';
import { templateOf, tokenText } from './tokenizer-config';

export interface TiktokenFiles {
  /** `tiktoken.model`: a token in base64 and its rank on each line. */
  readonly ranks: string;
  readonly config: TokenizerConfig;
  readonly chatTemplate: string | null;
  readonly source: string;
}

/** Ids above the ranks that Kimi's tokenizer names, used or not. */
const RESERVED = 256;
/** Kimi's tokenizer cuts texts, and runs without a change between spaces and words, that are longer than this. */
const LONGEST_TEXT = 400_000;
const LONGEST_RUN = 25_000;

// Upper case may stand before lower case, and Chinese characters are words of their own. `ſ` is an `s` to a pattern that does not mind case.
const SPACE = String.raw`\p{White_Space}`;
const UPPER = String.raw`[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]&&[^\p{Script=Han}]]`;
const LOWER = String.raw`[[\p{Ll}\p{Lm}\p{Lo}\p{M}]&&[^\p{Script=Han}]]`;
const SHORT = `(?:'(?:[sSſ]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD]))?`;
const LEAD = String.raw`[^\r\n\p{L}\p{N}]?`;
const KIMI_PATTERN = [
  String.raw`\p{Script=Han}+`,
  `${LEAD}${UPPER}*${LOWER}+${SHORT}`,
  `${LEAD}${UPPER}+${LOWER}*${SHORT}`,
  String.raw`\p{N}{1,3}`,
  String.raw` ?[^${SPACE}\p{L}\p{N}]+[\r\n]*`,
  String.raw`${SPACE}*[\r\n]+`,
  String.raw`${SPACE}+(?!\P{White_Space})`,
  `${SPACE}+`,
].join('|');

/** Kimi's tokenizers, which have no `tokenizer.json`: ranks in a file, and how text is cut in Python code. */
export function createTiktokenTokenizer(files: TiktokenFiles): ChatTokenizer {
  const { config, source } = files;
  const code = JSON.stringify([config['auto_map'] ?? null, config['tokenizer_class'] ?? null]);
  if (/kimi|moonshot|TikTokenTokenizer/i.test(code)) return new TiktokenTokenizer(files);
  throw new DomainError(
    'unknown-model',
    `The tokenizer of "${source}" is a tiktoken file, and how it cuts text is in Python code (${code.slice(0, 120)}). Known is Kimi's. Use a model with tokenizer.json.`,
  );
}

class TiktokenTokenizer implements ChatTokenizer {
  readonly vocabSize: number;
  readonly bosToken: string | null;
  readonly eosToken: string | null;
  readonly eosTokenId: number | null;
  readonly chatTemplate: string | null;
  readonly source: string;
  readonly longestToken: number;
  private readonly ranks: ByteRanks;
  private readonly bytes = new Map<number, Buffer>();
  private readonly added = new Map<string, number>();
  private readonly special = new Set<number>();
  private readonly addedPattern: RegExp;
  private readonly pattern = new RegExp(KIMI_PATTERN, 'gv');

  constructor({ ranks, config, chatTemplate, source }: TiktokenFiles) {
    this.source = source;
    this.ranks = readRanks(ranks, source);
    for (const [text, rank] of this.ranks) this.bytes.set(rank, Buffer.from(text, 'latin1'));
    const named = isRecord(config['added_tokens_decoder']) ? config['added_tokens_decoder'] : {};
    for (let id = this.ranks.size; id < this.ranks.size + RESERVED; id++) {
      this.add(id, named[id] ?? { content: `<|reserved_token_${id}|>`, special: true });
    }
    this.vocabSize = this.ranks.size + RESERVED;
    const longestFirst = [...this.added.keys()].sort((one, other) => other.length - one.length);
    this.addedPattern = new RegExp(`(${longestFirst.map(escaped).join('|')})`, 'u');
    this.bosToken = tokenText(config['bos_token']);
    this.eosToken = tokenText(config['eos_token']);
    this.eosTokenId = this.eosToken === null ? null : (this.added.get(this.eosToken) ?? null);
    this.chatTemplate = chatTemplate ?? templateOf(config['chat_template']);
    this.longestToken = [...this.bytes.values()].reduce(
      (longest, { length }) => Math.max(longest, length),
      1,
    );
  }

  encode(text: string, options: { readonly allowSpecial?: boolean } = {}): number[] {
    const parts = options.allowSpecial ? text.split(this.addedPattern) : [text];
    return parts.flatMap((part) => {
      const id = options.allowSpecial ? this.added.get(part) : undefined;
      return id === undefined ? this.encodeWords(part) : [id];
    });
  }

  decode(tokens: readonly number[], options: { readonly skipSpecial?: boolean } = {}): string {
    const kept = tokens.filter((token) => !(options.skipSpecial && this.special.has(token)));
    return Buffer.concat(kept.map((token) => this.bytes.get(token) ?? Buffer.alloc(0))).toString('utf8');
  }

  isSpecial(token: number): boolean {
    return this.special.has(token);
  }

  private encodeWords(text: string): number[] {
    return [...cutLong(text)].flatMap((part) =>
      (part.match(this.pattern) ?? []).flatMap((word) =>
        mergeBytePairs(Buffer.from(word, 'utf8').toString('latin1'), this.ranks),
      ),
    );
  }

  private add(id: number, token: unknown): void {
    const content = tokenText(token);
    if (content === null) return;
    this.added.set(content, id);
    this.bytes.set(id, Buffer.from(content, 'utf8'));
    if (isRecord(token) && token['special'] === true) this.special.add(id);
  }
}

function readRanks(text: string, source: string): ByteRanks {
  const ranks = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const [token = '', rank = ''] = line.trim().split(' ');
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(token) || Number(rank) !== ranks.size)
      throw damaged(source, `line "${line.slice(0, 40)}" is no token with the rank ${ranks.size}`);
    ranks.set(Buffer.from(token, 'base64').toString('latin1'), Number(rank));
  }
  for (let byte = 0; byte < 256; byte++) {
    if (!ranks.has(String.fromCharCode(byte))) throw damaged(source, `byte ${byte} is no token of it`);
  }
  return ranks;
}

function damaged(source: string, what: string): DomainError {
  return new DomainError(
    'unknown-model',
    `tiktoken.model of "${source}" cannot be read: ${what}. Fetch the model's files again.`,
  );
}

function* cutLong(text: string): Generator<string> {
  for (const [part] of text.matchAll(new RegExp(`[^]{1,${LONGEST_TEXT}}`, 'gu'))) {
    let start = 0;
    for (const run of part.matchAll(new RegExp(`\\S{${LONGEST_RUN + 1},}|\\s{${LONGEST_RUN + 1},}`, 'gu'))) {
      for (const head of run[0].matchAll(new RegExp(`[^]{${LONGEST_RUN}}(?=[^])`, 'gu'))) {
        const end = run.index + head.index + head[0].length;
        yield part.slice(start, end);
        start = end;
      }
    }
    yield part.slice(start);
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
