import { rmSync } from 'node:fs';
import { loadTokenizer } from '../../../src/renderers/tokenizers/load-tokenizer';
import { CharacterTokenizer } from './character-tokenizer';
import { knownDifference } from './known-differences';
import { realModel, realModelsFolder } from './real-models';
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

afterAll(() => {
  const folder = realModelsFolder();
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
});

for (const name of FAMILIES) {
  const family = readRenderings(name);
  if (family === null) {
    test.skip(`${name}: needs shared/vectors/real-rendering beside the repository`, () => undefined);
    continue;
  }
  const models = [...new Set(family.cases.map(({ model }) => model))];
  for (const model of models) {
    const found = realModel(model);
    if (found === null) {
      test.skip(`${name}: needs the tokenizer of ${model} in EVERSTEP_REAL_MODELS`, () => undefined);
      continue;
    }
    const cases = family.cases.filter(
      (one) => one.model === model && (found.hasTemplate || !isOfTemplate(one)),
    );
    test(`${name}: ${cases.length} cases of ${model} are as the reference has them, or known to differ`, async () => {
      const tokenizer = await loadTokenizer({ folder: found.folder });

      expect(surprises(cases, { family, tokenizer, renderers: new Map() })).toEqual([]);
    });
    if (!found.hasTemplate) {
      test.skip(`${name}: needs the template of ${model} in EVERSTEP_REAL_MODELS`, () => undefined);
    }
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
