import { rmSync } from 'node:fs';
import { findRenderer } from '../../../src/renderers/find-renderer';
import type { ChatTokenizer } from '../../../src/renderers/tokenizers/hugging-face-tokenizer';
import { loadTokenizer } from '../../../src/renderers/tokenizers/load-tokenizer';
import { CharacterTokenizer } from './character-tokenizer';
import { knownDifference } from './known-differences';
import { PACKAGED_MODELS, realModel, realModelsFolder } from './real-models';
import type { RenderingCase, RenderingFamily, Site } from './real-rendering';
import { differenceOf, isModelTemplate, readRenderings, textLike } from './real-rendering';

/** What tinker-cookbook's renderers and the models' own templates make of 90 conversations, in the models' own tokens. */

const FAMILIES = [
  'qwen3',
  'qwen3_5',
  'qwen3_8',
  'nemotron3',
  'kimi_k2',
  'llama3',
  'deepseekv3',
  'gpt_oss',
  'gemma3',
  'glm4_7',
  'minimax_m2',
  'role_colon',
];

/** One more than the largest id of tokenizer.json (of gpt-oss the last tokens have no name); renderers made for the model. */
const PACKAGED: Readonly<Record<string, Packaged>> = {
  'Qwen3-8B': {
    vocabSize: 151_669,
    renderers: ['qwen3', 'qwen3_disable_thinking', 'role_colon', 'chat_template'],
  },
  'Qwen3-4B-Instruct-2507': { vocabSize: 151_669, renderers: ['qwen3_instruct'] },
  'Meta-Llama-3-8B-Instruct': { vocabSize: 128_256, renderers: ['llama3', 'chat_template'] },
  'DeepSeek-V3.1': { vocabSize: 128_815, renderers: ['deepseekv3', 'deepseekv3_thinking'] },
  'gpt-oss-20b': { vocabSize: 200_019, renderers: ['gpt_oss_no_sysprompt', 'gpt_oss_medium_reasoning'] },
  'gemma-3-4b-it': { vocabSize: 262_145, renderers: ['role_colon', 'chat_template'] },
};

test('every packaged model is in the table', () => {
  expect(Object.keys(PACKAGED).sort()).toEqual([...PACKAGED_MODELS].sort());
});

afterAll(() => {
  const folder = realModelsFolder();
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
});

interface Vectors {
  readonly name: string;
  readonly family: RenderingFamily;
}

const vectors = FAMILIES.flatMap((name): Vectors[] => {
  const family = readRenderings(name);
  if (family !== null) return [{ name, family }];
  test.skip(`${name}: needs shared/vectors/real-rendering beside the repository`, () => undefined);
  return [];
});

const modelsOf = ({ family }: Vectors): string[] => family.cases.map(({ model }) => model);
const MODELS = [...new Set([...PACKAGED_MODELS, ...vectors.flatMap(modelsOf)])];

/** One model after another, so that a vocabulary is read once and gone before the next. */
for (const model of MODELS) {
  const known = vectors.filter((one) => modelsOf(one).includes(model));
  const found = realModel(model);
  if (found === null) {
    for (const { name } of known)
      test.skip(`${name}: needs the tokenizer of ${model} in EVERSTEP_REAL_MODELS`, () => undefined);
    continue;
  }
  describe(`with the tokenizer of ${model}`, () => {
    let read: Promise<ChatTokenizer> | null = null;
    const tokenizerOf = () => (read ??= loadTokenizer({ folder: found.folder }));

    afterAll(() => {
      read = null;
    });

    for (const { name, family } of known) {
      const cases = family.cases.filter(
        (one) => one.model === model && (found.hasTemplate || !isOfTemplate(one)),
      );
      test(`${name}: ${cases.length} cases of ${model} are as the reference has them, or known to differ`, async () => {
        const tokenizer = await tokenizerOf();

        expect(surprises(cases, { family, tokenizer, renderers: new Map() })).toEqual([]);
      });
      if (!found.hasTemplate) {
        test.skip(`${name}: needs the template of ${model} in EVERSTEP_REAL_MODELS`, () => undefined);
      }
    }

    const packaged = PACKAGED[model];
    if (packaged === undefined) return;
    test(`${model} is read from its folder and trains a reply`, async () => {
      expectToTrain(await tokenizerOf(), packaged);
    });
  });
}

interface Packaged {
  readonly vocabSize: number;
  readonly renderers: readonly string[];
}

function expectToTrain(tokenizer: ChatTokenizer, { vocabSize, renderers }: Packaged): void {
  expect(tokenizer.vocabSize).toBe(vocabSize);
  expect(tokenizer.decode(tokenizer.encode('Grüße aus 東京, 1234567! 🦊'))).toBe(
    'Grüße aus 東京, 1234567! 🦊',
  );
  for (const one of renderers) {
    const renderer = findRenderer(one, tokenizer);
    const { tokens, weights } = renderer.buildSupervisedExample(
      [
        { role: 'user', content: 'How many legs has a fox?' },
        { role: 'assistant', content: 'Four legs.' },
      ],
      'lastAssistantMessage',
    );
    const said = tokens.filter((_, index) => weights[index] === 1);

    expect(tokenizer.decode(said)).toContain('Four legs.');
    expect(renderer.parseCompletion(said).termination).toBe('stop_sequence');
  }
}

function isOfTemplate({ kind }: RenderingCase): boolean {
  return kind.startsWith('template-');
}

/** Models without a tokenizer here: the words of their templates, of which our renderer has to write every one. */
const RENDERERS_OF_TEMPLATES: readonly [model: string, renderer: string][] = [
  ['Nemotron-3-Nano', 'nemotron3'],
  ['Nemotron-3-Super', 'nemotron3'],
  ['Nemotron-3-Ultra', 'nemotron3_ultra'],
];

for (const [model, renderer] of RENDERERS_OF_TEMPLATES) {
  const family = readRenderings('nemotron3');
  const cases = (family?.cases ?? []).filter((one) => one.model === model && isOfTemplate(one));
  (family === null ? test.skip : test)(`${renderer} writes what the template of ${model} writes`, () => {
    if (family === null) return;
    const tokenizer = Object.assign(new CharacterTokenizer(), {
      chatTemplate: null,
      source: model,
      longestToken: null,
    });
    const site = { family, tokenizer, renderers: new Map() };
    const compared = cases.filter(({ id }) => !/\/(call-arguments(-escaped)?|call-whole-float)$/.test(id));
    const texts = (text: string | null | undefined) => text?.replace(/\n$/, '');

    for (const one of compared) {
      const ours = textLike(one, renderer, site);
      expect([one.id, texts(ours)]).toEqual([one.id, texts(one.expected.text)]);
    }
    expect(compared.length).toBeGreaterThan(100);
  });
}

function surprises(cases: RenderingFamily['cases'], site: Site): string[] {
  return cases.flatMap((one) => {
    const difference = differenceOf(one, site);
    if (difference === null || isModelTemplate(one, site) || knownDifference(one.id)) return [];
    return [`${one.id} ${difference}`];
  });
}
