import { z } from 'zod';

/** What a step writes at each place that it finds. */
export const Writing = z.string().max(32);

/** Rewritten by the library, in time by the square of its length. */
const Searched = z.string().max(10_000).optional();
const Pattern = z
  .object({ String: Searched, Regex: Searched })
  .refine((pattern) => pattern.String !== undefined || pattern.Regex !== undefined, {
    message: 'needs "String" or "Regex"',
  });

/** JavaScript would write what was found, or all before it, in place of these. */
const REFERENCE = /\$[$&`'<\d]/;
const Replace = z.object({
  pattern: Pattern,
  content: Writing.refine((text) => !REFERENCE.test(text), {
    message: 'a "$" stands before what makes it a reference to what was found',
  }).nullish(),
});
const Plain = z.object({});
const Count = z.int().min(0).nullish();
const Steps = z.array(z.unknown());

/** A text has to stay in it, once. */
const Template = z.object({
  single: z
    .array(
      z.object({
        SpecialToken: z.unknown().optional(),
        Sequence: z.object({ id: z.literal('A') }).optional(),
      }),
    )
    .refine(
      (items) => items.filter((item) => item.Sequence && item.SpecialToken === undefined).length === 1,
      { message: 'needs the sequence "A", and once' },
    ),
});

interface StepKinds {
  /** Where a Sequence has its steps. */
  readonly steps: string;
  readonly kinds: Readonly<Record<string, z.ZodType>>;
}

/** Steps of a `tokenizer.json` that the library knows, with what it reads of them. */
export const STEP_KINDS: Readonly<Record<string, StepKinds>> = {
  normalizer: {
    steps: 'normalizers',
    kinds: {
      Sequence: z.object({ normalizers: Steps }),
      Replace,
      Prepend: z.object({ prepend: Writing }),
      BertNormalizer: Plain,
      Precompiled: Plain,
      NFC: Plain,
      NFD: Plain,
      NFKC: Plain,
      NFKD: Plain,
      Strip: Plain,
      StripAccents: Plain,
      Lowercase: Plain,
    },
  },
  pre_tokenizer: {
    steps: 'pretokenizers',
    kinds: {
      Sequence: z.object({ pretokenizers: Steps }),
      Split: z.object({ pattern: Pattern, behavior: z.string().nullish() }),
      Replace,
      Metaspace: z.object({ replacement: Writing.nullish(), str_rep: Writing.nullish() }),
      FixedLength: z.object({ length: z.int().min(1) }),
      ByteLevel: Plain,
      BertPreTokenizer: Plain,
      Whitespace: Plain,
      WhitespaceSplit: Plain,
      Punctuation: Plain,
      Digits: Plain,
    },
  },
  post_processor: {
    steps: 'processors',
    kinds: {
      Sequence: z.object({ processors: Steps }),
      TemplateProcessing: Template,
      ByteLevel: Plain,
      BertProcessing: Plain,
      RobertaProcessing: Plain,
    },
  },
  decoder: {
    steps: 'decoders',
    kinds: {
      Sequence: z.object({ decoders: Steps }),
      Replace,
      Strip: z.object({ content: Writing.nullish(), start: Count, stop: Count }),
      Metaspace: z.object({ replacement: Writing.nullish() }),
      WordPiece: z.object({ prefix: Writing.nullish() }),
      BPEDecoder: z.object({ suffix: Writing.nullish() }),
      CTC: z.object({ pad_token: Writing.nullish(), word_delimiter_token: Writing.nullish() }),
      ByteLevel: Plain,
      Fuse: Plain,
      ByteFallback: Plain,
    },
  },
};
