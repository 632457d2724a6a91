import type { ToolDeclaration } from '../../src/core/completion';
import type { Message, TrainOnWhat } from '../../src/core/conversation';
import { TRAIN_ON_WHAT } from '../../src/core/conversation';
import { findRenderer, RENDERER_NAMES } from '../../src/renderers/find-renderer';
import { FIXED_DAY } from '../../src/renderers/fixed-day';
import { recommendedRendererFor, renderersFor } from '../../src/renderers/recommended-renderer';
import { CharacterTokenizer, spansOf } from '../unit/renderers/character-tokenizer';
import { readVectors } from '../unit/renderers/vector-files';

/**
 * What tinker-cookbook 9dfcc3a2cf44 renders and reads, case by case. A case in which we differ says so in its name, and
 * what we do instead is checked.
 */

interface FieldMessage extends Omit<Message, 'toolCalls' | 'toolCallId'> {
  tool_calls?: Message['toolCalls'];
  tool_call_id?: string;
}
interface Failure {
  $error: string;
}
interface Rendering {
  renderer: string;
  messages: FieldMessage[];
  train_on_what: string;
  tools?: ToolDeclaration[];
  system_prompt?: string;
}
interface Parsing {
  renderer: string;
  kind: string;
  sampled: string;
}
interface Parsed {
  message: FieldMessage & {
    tool_calls?: { id: string | null; name: string; arguments: string }[];
    unparsed_tool_calls?: { raw_text: string }[];
  };
  termination: string;
}
type Spans = [string, number][];

const tokenizer = new CharacterTokenizer();
const HARMONY_TEMPLATE =
  'gpt-oss: as the model’s template has it, and the date in the prompt is fixed, or scores would change by day';
const NESTED_TOOLS =
  'differs on purpose: tools are declared in OpenAI’s nesting, as in the model’s own template';
const EMPTY_REPLY =
  "differs on purpose: an empty reply ends with its stop token, as in the model's own template";
const DOUBLE_STOP = 'differs on purpose: a doubled stop token is reported as malformed, not raised';
const CALLS_ONLY = 'differs on purpose: the raw text of tool calls that were read is not repeated as content';

interface Suite<Input, Expected> {
  readonly title: string;
  readonly source: string;
  readonly count: number;
  readonly difference: (input: Input) => string | null;
  readonly check: (input: Input, expected: Expected) => void;
}

function testVectors<Input extends { renderer: string }, Expected>(suite: Suite<Input, Expected>): void {
  const cases = readVectors<Input, Expected>('renderers.json', suite.source);
  if (!cases) {
    test.skip(`${suite.title}: the behaviour vectors are not on this machine (EVERSTEP_VECTORS_DIR)`, () =>
      undefined);
    return;
  }
  test(`${suite.title}: all ${suite.count} cases, of renderers we have`, () => {
    expect(cases).toHaveLength(suite.count);
    expect(cases.filter(({ input }) => !RENDERER_NAMES.includes(input.renderer))).toEqual([]);
  });
  test.each(
    cases.map((vector, index) => {
      const difference = suite.difference(vector.input);
      return [`${vector.input.renderer} ${index}${difference ? `, ${difference}` : ''}`, vector] as const;
    }),
  )(`${suite.title}: %s`, (_, { input, expected }) => {
    suite.check(input, expected);
  });
}

const REFUSED = 'what the renderer does not write is refused, not dropped';

testVectors<Rendering, string | Failure>({
  title: 'generation prompt',
  source: 'Renderer.build_generation_prompt',
  count: 191,
  difference: (input) => {
    if (dropsCalls(input)) return REFUSED;
    return declaresBareTools(input) ? NESTED_TOOLS : harmonyDifference(input);
  },
  check: (input, expected) => {
    const renderer = findRenderer(input.renderer, tokenizer);
    const declare = () => (input.tools ? renderer.declareTools(input.tools, input.system_prompt ?? '') : []);
    const build = () => renderer.buildGenerationPrompt([...declare(), ...toMessages(input.messages)]);

    if (isFailure(expected) || dropsCalls(input)) expect(build).toThrow();
    else {
      const template = asHarmonyTemplate(withNestedTools(input, expected));
      expect(tokenizer.decode(build())).toBe(template.replace(WORDS_BESIDE_CALL, '$1analysis'));
    }
  },
});

/** The cookbook leaves calls out where it has no form for them. */
function dropsCalls({ renderer, messages }: Rendering): boolean {
  return ['llama3', 'role_colon'].includes(renderer) && JSON.stringify(messages).includes('"tool_calls":[{');
}

/** And reasoning of the reply that is trained. */
function dropsWords(input: Rendering): boolean {
  const rulesOut = ['deepseekv3', 'qwen3_8_disable_thinking'].includes(input.renderer);
  const last = JSON.stringify(input.messages.at(-1) ?? {});
  return dropsCalls(input) || (rulesOut && (last.includes('"type":"thinking"') || last.includes('</think>')));
}

const supervised = {
  difference: (input: Rendering) => {
    if (dropsWords(input)) return REFUSED;
    return isEmptyDeepSeekReply(input) ? EMPTY_REPLY : harmonyDifference(input);
  },
  check: (input: Rendering, expected: Spans | Failure) => {
    const build = () =>
      findRenderer(input.renderer, tokenizer).buildSupervisedExample(
        toMessages(input.messages),
        toTrainOnWhat(input.train_on_what),
      );

    if (isFailure(expected) || dropsWords(input)) {
      expect(build).toThrow();
      return;
    }
    const spans = expected.map(([text, weight]): Spans[number] => [asHarmonyTemplate(text), weight]);
    if (isEmptyDeepSeekReply(input)) spans.push(['<｜end▁of▁sentence｜>', 1]);
    expect(spansOf(tokenizer, build())).toEqual(spans);
  },
};

testVectors<Rendering, Spans | Failure>({
  title: 'supervised example',
  source: 'Renderer.build_supervised_example',
  count: 148,
  ...supervised,
});

testVectors<Rendering, Spans | Failure>({
  title: 'supervised example by trainOnWhat',
  source: 'Renderer.build_supervised_example (train_on_what)',
  count: 116,
  ...supervised,
});

testVectors<Parsing, Parsed | Failure>({
  title: 'parsing',
  source: 'Renderer.parse_response',
  count: 242,
  difference: (input) => {
    if (input.kind === 'double_stop') return DOUBLE_STOP;
    return isHarmonyCall(input) ? CALLS_ONLY : null;
  },
  check: (input, expected) => {
    const renderer = findRenderer(input.renderer, tokenizer);

    const { message, termination, unparsedToolCalls } = renderer.parseCompletion(
      tokenizer.encode(input.sampled, { allowSpecial: true }),
    );

    if (isFailure(expected)) {
      expect(input.kind).toBe('double_stop');
      expect({ message, termination }).toEqual({
        message: { role: 'assistant', content: 'a' },
        termination: 'malformed',
      });
      return;
    }
    expect(termination).toBe(expected.termination);
    expect(message.content).toEqual(isHarmonyCall(input) ? [] : expected.message.content);
    expect(message.toolCalls?.map((call) => ({ id: null, ...call }))).toEqual(expected.message.tool_calls);
    expect(unparsedToolCalls?.map((call) => call.rawText)).toEqual(
      expected.message.unparsed_tool_calls?.map((call) => call.raw_text),
    );
  },
});

const stops = readVectors<string, string[]>(
  'renderers.json',
  'renderers.get_renderer(...).get_stop_sequences',
);
if (stops) {
  test.each(stops)('stops $input where the reference does', ({ input, expected }) => {
    const found = findRenderer(input, tokenizer).stopSequences();
    expect(found.map((stop) => (typeof stop === 'string' ? stop : tokenizer.decode([stop])))).toEqual(
      expected,
    );
  });
} else {
  test.skip('stop sequences: the behaviour vectors are not on this machine', () => undefined);
}

const models = readVectors<string, { recommended_renderers?: string[] }>(
  'model_info_hyperparams.json',
  'model_info.get_model_attributes',
);
if (models) {
  /** These read images, or come from a package of their own. */
  const withoutOurs = ['qwen3_vl_instruct', 'tml_v0'];
  test.each(models)(
    'renders $input as the reference does, or by its chat template',
    ({ input, expected }) => {
      const theirs = expected.recommended_renderers ?? [];
      const ours = theirs.filter((name) => !withoutOurs.includes(name));

      expect(recommendedRendererFor(input)).toBe(ours[0] ?? 'chat_template');
      expect(renderersFor(input)).toEqual(expect.arrayContaining(ours));
    },
  );
} else {
  test.skip('recommended renderers: the behaviour vectors are not on this machine', () => undefined);
}

/** The cookbook's declarations for Qwen3.5 and 3.8 are not those of the models' templates. */
function declaresBareTools({ renderer, tools = [] }: Rendering): boolean {
  return tools.length > 0 && /^qwen3_[58]/.test(renderer);
}

function withNestedTools(input: Rendering, prompt: string): string {
  if (!declaresBareTools(input)) return prompt;
  return prompt.replace(/^(\{"name": .*\})$/gm, '{"type": "function", "function": $1}');
}

function harmonyDifference({ renderer }: Rendering): string | null {
  return renderer.startsWith('gpt_oss') ? HARMONY_TEMPLATE : null;
}

/** The template writes words beside a call as reasoning where no answer follows. */
const WORDS_BESIDE_CALL =
  /(<\|start\|>assistant<\|channel\|>)commentary(?=<\|message\|>[^<]*<\|end\|><\|start\|>assistant to=)/g;

/** What the template of gpt-oss writes in another way than the cookbook. */
const HARMONY_REWRITES: readonly (readonly [RegExp, string | ((...groups: string[]) => string)])[] = [
  [/<\|constrain\|>json/g, 'json'],
  [/(every message\.)<\|end\|><\|start\|>system<\|message\|>(Calls to these tools)/g, '$1\n$2'],
  [/\(_:\n\{/g, '(_: {'],
  [
    /( to=assistant<\|channel\|>commentary<\|message\|>)(.*?)(?=<\|end\|>)/gs,
    (_, header = '', answer = '') => header + JSON.stringify(answer),
  ],
  [
    /<\|channel\|>analysis<\|message\|>[^<]*<\|end\|><\|start\|>assistant(?=<\|channel\|>final<\|message\|>[^<]*<\|end\|>)/g,
    '',
  ],
];

function asHarmonyTemplate(text: string): string {
  return HARMONY_REWRITES.reduce(
    (rewritten, [pattern, by]) =>
      typeof by === 'string' ? rewritten.replace(pattern, by) : rewritten.replace(pattern, by),
    text.replaceAll('{{current_date}}', FIXED_DAY),
  );
}

function isEmptyDeepSeekReply({ renderer, messages }: Rendering): boolean {
  return renderer.startsWith('deepseekv3') && messages.at(-1)?.content === '';
}

function isHarmonyCall({ renderer, kind }: Parsing): boolean {
  return renderer.startsWith('gpt_oss') && kind === 'harmony_tool';
}

function isFailure(expected: unknown): expected is Failure {
  return typeof expected === 'object' && expected !== null && '$error' in expected;
}

function toMessages(messages: readonly FieldMessage[]): Message[] {
  return messages.map(({ tool_calls, tool_call_id, ...rest }) => ({
    ...rest,
    ...(tool_calls ? { toolCalls: tool_calls } : {}),
    ...(tool_call_id ? { toolCallId: tool_call_id } : {}),
  }));
}

function toTrainOnWhat(name: string): TrainOnWhat {
  const camel = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const found = TRAIN_ON_WHAT.find((known) => known === camel);
  if (!found) throw new Error(`unknown train_on_what ${name}`);
  return found;
}
