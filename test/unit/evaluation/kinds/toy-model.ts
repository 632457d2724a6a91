import type { SampleRequest, SampleResult, Sampler } from '../../../../src/core/sampling';
import type { Tokenizer } from '../../../../src/core/tokenizer';
import type { KindDependencies, KindRow } from '../../../../src/evaluation/kinds/evaluate-kind';
import type { Renderer } from '../../../../src/renderers/renderer';

const BOS = 1;
const EOS = 2;
/** What "ab" becomes, whoever the letters belong to. */
const MERGED = 3;

/** A token a character, but for "ab", which is one. */
export const toyTokenizer: Tokenizer = {
  encode(text, { allowSpecial = false } = {}) {
    if (allowSpecial && text === '<s>') return [BOS];
    return [...text.matchAll(/ab|[^]/g)].map(([piece]) => (piece === 'ab' ? MERGED : piece.charCodeAt(0)));
  },
  decode(tokens, { skipSpecial = false } = {}) {
    const special = skipSpecial ? ['', ''] : ['<s>', '</s>'];
    return tokens
      .map((token) =>
        token === MERGED ? 'ab' : token <= EOS ? special[token - 1] : String.fromCharCode(token),
      )
      .join('');
  },
  vocabSize: 256,
  bosToken: '<s>',
  eosToken: '</s>',
  eosTokenId: EOS,
  isSpecial: (token) => token === BOS || token === EOS,
};

/** "user: …" a message, "bot:" last; a reply ends at a full stop. */
const toyRenderer: Pick<Renderer, 'buildGenerationPrompt' | 'parseCompletion' | 'stopSequences'> = {
  buildGenerationPrompt: (messages) =>
    toyTokenizer.encode(
      `${messages.map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : ''}\n`).join('')}bot:`,
    ),
  parseCompletion: (tokens) => ({
    message: {
      role: 'assistant',
      content: toyTokenizer.decode(tokens, { skipSpecial: true }).replace(/\.$/, ''),
    },
    termination: 'stop_sequence',
  }),
  stopSequences: () => ['.'],
};

interface ToyModel {
  /** Log-probability of a token by what stands before it; default -1. */
  readonly logprob?: (before: string, token: string) => number;
  /** What it expects behind a text; default a question mark. */
  readonly expects?: (before: string) => string;
  /** What it writes behind a prompt. */
  readonly writes?: (prompt: string, seed: number) => string;
}

export interface ToySampler extends Sampler {
  readonly requests: SampleRequest[];
}

function toySampler({ logprob = () => -1, expects = () => '?', writes = () => '' }: ToyModel): ToySampler {
  const requests: SampleRequest[] = [];
  return {
    requests,
    sample(request) {
      requests.push(request);
      const { prompt, params } = request;
      const before = prompt.map((_, index) => toyTokenizer.decode(prompt.slice(0, index)));
      const written = toyTokenizer.encode(writes(toyTokenizer.decode(prompt), params.seed ?? 0));
      const expected = before.map((text) => toyTokenizer.encode(expects(text))[0] ?? 0);
      return Promise.resolve<SampleResult>({
        sequences: [{ tokens: written, logprobs: written.map(() => -0.5), stopReason: 'stop' }],
        promptLogprobs:
          request.promptLogprobs === true
            ? prompt.map((token, index) =>
                index === 0 ? null : logprob(before[index] ?? '', toyTokenizer.decode([token])),
              )
            : null,
        ...(request.topPromptLogprobs !== undefined && {
          topPromptLogprobs: {
            width: 1,
            tokens: Int32Array.from(expected),
            logprobs: Float32Array.from(expected, () => -0.1),
          },
        }),
      });
    },
  };
}

export function toySite(
  model: ToyModel,
  contextLength: number | null = null,
): KindDependencies & {
  readonly sampler: ToySampler;
} {
  return {
    sampler: toySampler(model),
    tokenizer: toyTokenizer,
    renderer: toyRenderer as Renderer,
    contextLength,
  };
}

/** A journal in memory. */
export function toyJournal() {
  const rows = new Map<string, KindRow>();
  return {
    rows,
    get: (key: string | number) => rows.get(String(key)),
    appendWhenRoom(row: KindRow) {
      if (!rows.has(row.key)) rows.set(row.key, row);
      return Promise.resolve(true);
    },
    verify: () => undefined,
  };
}
