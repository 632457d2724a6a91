import type { Tokenizer as HuggingFaceEncoder } from '@huggingface/tokenizers';
import { DomainError } from '../../core/errors';
import type { Tokenizer } from '../../core/tokenizer';
import { OvergrownText } from './bounded-encoder';
import { checkDefinition } from './check-definition';
import { longestTokenOf } from './longest-token';
import { createPieceEncoder, withAddedTokens } from './piece-encoder';
import { templateOf, tokenText } from './tokenizer-config';

/** A tokenizer that knows how its model writes conversations. */
export interface ChatTokenizer extends Tokenizer {
  /** Jinja source of the chat template; null where the model has none. */
  readonly chatTemplate: string | null;
  /** Model id or folder, for messages. */
  readonly source: string;
  /** The most UTF-16 units of a text that one token stands for; null where it may be any number. */
  readonly longestToken: number | null;
}

export interface TokenizerFiles {
  readonly definition: Readonly<Record<string, unknown>>;
  readonly config: Readonly<Record<string, unknown>>;
  readonly chatTemplate: string | null;
  readonly source: string;
}

/** Of fields that a `tokenizer.json` may leave out; the library reads them. */
const ABSENT = {
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: null,
};

export function createHuggingFaceTokenizer(files: TokenizerFiles): ChatTokenizer {
  try {
    const definition = { ...ABSENT, ...files.definition };
    checkDefinition(definition);
    return new HuggingFaceTokenizer({ ...files, definition });
  } catch (error) {
    throw error instanceof DomainError ? error : unreadable(files.source, error);
  }
}

function unreadable(source: string, error: unknown): DomainError {
  const detail = error instanceof Error ? error.message : String(error);
  return new DomainError(
    'unknown-model',
    `The tokenizer of "${source}" cannot be read: ${detail}. Use a model whose tokenizer.json is of a supported kind.`,
    { cause: error },
  );
}

class HuggingFaceTokenizer implements ChatTokenizer {
  readonly vocabSize: number;
  readonly bosToken: string | null;
  readonly eosToken: string | null;
  readonly eosTokenId: number | null;
  readonly chatTemplate: string | null;
  readonly source: string;
  readonly longestToken: number | null;
  private readonly encoder: HuggingFaceEncoder;
  /** Knows no special tokens, so that `<|end|>` inside a text is seven letters. */
  private readonly plainEncoder: HuggingFaceEncoder;
  private readonly specialIds: ReadonlySet<number>;

  constructor(files: TokenizerFiles) {
    const { definition, config, chatTemplate, source } = files;
    const added = addedTokens(definition);
    const special = added.filter((token) => token.special);
    this.encoder = createPieceEncoder(definition, config);
    const kept = added.filter((token) => !token.special);
    const left = special.map(({ content }) => content);
    this.plainEncoder =
      withAddedTokens(this.encoder, { definition, config, kept, left }) ??
      createPieceEncoder({ ...definition, added_tokens: kept }, config);
    this.specialIds = new Set(special.map((token) => token.id));
    this.vocabSize = this.encoder.model?.vocab.length ?? 0;
    this.bosToken = tokenText(config['bos_token']);
    this.eosToken = tokenText(config['eos_token']);
    this.eosTokenId = this.eosToken === null ? null : (this.encoder.token_to_id(this.eosToken) ?? null);
    this.chatTemplate = chatTemplate ?? templateOf(config['chat_template']);
    this.source = source;
    this.longestToken = longestTokenOf(files);
  }

  encode(text: string, options: { readonly allowSpecial?: boolean } = {}): number[] {
    const encoder = options.allowSpecial ? this.encoder : this.plainEncoder;
    const ids: readonly (number | undefined)[] = this.inBounds(
      () => encoder.encode(text, { add_special_tokens: false }).ids,
    );
    return ids.map((id) => {
      if (id !== undefined) return id;
      throw new DomainError(
        'bad-dataset',
        `The tokenizer of "${this.source}" has no tokens for a character of "${text.slice(0, 80)}". Remove the character.`,
      );
    });
  }

  decode(tokens: readonly number[], options: { readonly skipSpecial?: boolean } = {}): string {
    const kept = options.skipSpecial ? tokens.filter((token) => !this.specialIds.has(token)) : [...tokens];
    if (kept.length === 0) return '';
    return this.inBounds(() => this.encoder.decode(kept, { clean_up_tokenization_spaces: false }));
  }

  isSpecial(token: number): boolean {
    return this.specialIds.has(token);
  }

  private inBounds<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw error instanceof OvergrownText ? unreadable(this.source, error) : error;
    }
  }
}

interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
}

function addedTokens(definition: Readonly<Record<string, unknown>>): AddedToken[] {
  const added: unknown = definition['added_tokens'] ?? [];
  if (!Array.isArray(added)) return [];
  return added.filter(isAddedToken);
}

function isAddedToken(value: unknown): value is AddedToken {
  if (typeof value !== 'object' || value === null) return false;
  const { id, content, special } = { id: null, content: null, special: null, ...value };
  return typeof id === 'number' && typeof content === 'string' && typeof special === 'boolean';
}
