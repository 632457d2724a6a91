import { checkRendererFits, recommendedRendererFor } from '../../../src/renderers/recommended-renderer';

test.each([
  ['everstep/tiny', 'everstep'],
  ['Qwen/Qwen3-8B', 'qwen3'],
  ['qwen/qwen3-8b', 'qwen3'],
  ['QWEN/QWEN3-30B-A3B-INSTRUCT-2507', 'qwen3_instruct'],
  ['Qwen/Qwen3-8B-Base', 'role_colon'],
  ['Qwen/Qwen3.6-27B', 'qwen3_5'],
  ['Qwen/Qwen3.8-27B', 'qwen3_8_xhigh_reasoning'],
  ['meta-llama/Llama-3.2-1B', 'role_colon'],
  ['meta-llama/llama-3.3-70b-instruct', 'llama3'],
  ['deepseek-ai/DeepSeek-V3.1', 'deepseekv3'],
  ['openai/gpt-oss-20b', 'gpt_oss_no_sysprompt'],
  ['moonshotai/Kimi-K2-Thinking', 'kimi_k2'],
  ['moonshotai/Kimi-K2.6:peft:131072', 'kimi_k26'],
  ['nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16', 'nemotron3'],
  ['nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16', 'nemotron3_ultra'],
  ['Qwen/Qwen3-VL-30B-A3B-Instruct', 'chat_template'],
  ['acme/unheard-of', 'chat_template'],
  ['/models/some-folder', 'chat_template'],
])('%s is rendered by %s', (model, renderer) => {
  expect(recommendedRendererFor(model)).toBe(renderer);
  expect(() => {
    checkRendererFits(renderer, model);
  }).not.toThrow();
});

test('refuses the renderer of another family in one line that names the remedy', () => {
  expect(() => {
    checkRendererFits('llama3', 'Qwen/Qwen3-8B');
  }).toThrow(
    'Renderer "llama3" does not fit Qwen/Qwen3-8B. Use qwen3, qwen3_disable_thinking, or chat_template.',
  );
  expect(() => {
    checkRendererFits('qwen3', 'Qwen/Qwen3-4B-Instruct-2507');
  }).toThrow('does not fit');
});

test.each([
  ['role_colon', 'Qwen/Qwen3-8B'],
  ['chat_template', 'Qwen/Qwen3-8B'],
  ['qwen3_disable_thinking', 'qwen/qwen3-8b'],
  ['qwen3', 'Qwen/Qwen3-8B-Base'],
  ['llama3', 'acme/unheard-of'],
])('lets %s render %s', (renderer, model) => {
  expect(() => {
    checkRendererFits(renderer, model);
  }).not.toThrow();
});

test('an unknown renderer is unknown before it does not fit', () => {
  expect(() => {
    checkRendererFits('nope', 'Qwen/Qwen3-8B');
  }).toThrow('Unknown renderer "nope". Known: everstep, role_colon, llama3,');
});
