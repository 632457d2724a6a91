import { forModel } from '../../../../src/evaluation/model-defaults';

test.each([
  ['Qwen/Qwen3.5-35B-A3B', 65_536],
  ['Qwen/Qwen3.6-27B', 65_536],
  ['Qwen/Qwen3.5-397B-A17B:peft:262144', 262_144],
  ['Qwen/Qwen3-8B', 32_768],
  ['openai/gpt-oss-120b', 32_768],
  ['openai/gpt-oss-120b:peft:131072', 131_072],
  ['nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16:peft:262144', 262_144],
])('%s may use its whole context of %i tokens, for half an hour', (name, tokens) => {
  expect(forModel(name)).toEqual({
    maxTokens: tokens,
    contextWindow: tokens,
    timeoutSeconds: 1800,
    warning: null,
  });
});

test.each([
  ['everstep/tiny', 32_768, null],
  ['someone/model:peft:8192', 8192, 8192],
  ['toString', 32_768, null],
])('a model that is not known (%s) gets the defaults and a warning', (name, maxTokens, contextWindow) => {
  const defaults = forModel(name);

  expect(defaults).toMatchObject({ maxTokens, contextWindow, timeoutSeconds: 300 });
  expect(defaults.warning).toContain(`"${name}"`);
});
