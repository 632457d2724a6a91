import type { Message, TrainOnWhat } from '../../../src/core/conversation';
import { TRAIN_ON_WHAT } from '../../../src/core/conversation';
import { findRenderer, RENDERER_NAMES } from '../../../src/renderers/find-renderer';
import type { ToolDeclaration } from '../../../src/renderers/renderer';
import { recommendedRenderer } from '../../../src/renderers/recommended-renderer';
import { CharacterTokenizer, spansOf } from './character-tokenizer';
import type { VectorCase } from './vector-files';
import { readVectors } from './vector-files';

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

const tokenizer = new CharacterTokenizer();
const isOurs = ({ input }: VectorCase<{ renderer: string }, unknown>) =>
  RENDERER_NAMES.includes(input.renderer);
const isFailure = (expected: unknown): expected is Failure =>
  typeof expected === 'object' && expected !== null && '$error' in expected;

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

interface VectorSuite<Input, Expected> {
  readonly title: string;
  readonly source: string;
  readonly check: (input: Input, expected: Expected) => void;
}

function testVectors<Input extends { renderer: string }, Expected>(
  suite: VectorSuite<Input, Expected>,
): void {
  const cases = readVectors<Input, Expected>('renderers.json', suite.source)?.filter(isOurs);
  if (!cases) {
    test.skip(`${suite.title}: the behaviour vectors are not on this machine (EVERSTEP_VECTORS_DIR)`, () =>
      undefined);
    return;
  }
  test(`${suite.title} has cases`, () => {
    expect(cases.length).toBeGreaterThan(10);
  });
  const named = cases.map((vector, index) => [`${vector.input.renderer} ${index}`, vector] as const);
  test.each(named)(`${suite.title}: %s`, (_, { input, expected }) => {
    suite.check(input, expected);
  });
}

testVectors<Rendering, string | Failure>({
  title: 'generation prompt',
  source: 'Renderer.build_generation_prompt',
  check: (input, expected) => {
    const renderer = findRenderer(input.renderer, tokenizer);
    const declare = () => (input.tools ? renderer.declareTools(input.tools, input.system_prompt ?? '') : []);
    const build = () => renderer.buildGenerationPrompt([...declare(), ...toMessages(input.messages)]);

    if (isFailure(expected)) expect(build).toThrow();
    else expect(tokenizer.decode(build())).toBe(expected);
  },
});

for (const source of [
  'Renderer.build_supervised_example',
  'Renderer.build_supervised_example (train_on_what)',
]) {
  testVectors<Rendering, [string, number][] | Failure>({
    title: source,
    source,
    check: (input, expected) => {
      const build = () =>
        findRenderer(input.renderer, tokenizer).buildSupervisedExample(
          toMessages(input.messages),
          toTrainOnWhat(input.train_on_what),
        );

      if (isFailure(expected)) expect(build).toThrow();
      else expect(spansOf(tokenizer, build())).toEqual(expected);
    },
  });
}

testVectors<Parsing, Parsed | Failure>({
  title: 'parsing',
  source: 'Renderer.parse_response',
  check: (input, expected) => {
    const tokens = tokenizer.encode(input.sampled, { allowSpecial: true });

    const { message, termination, unparsedToolCalls } = findRenderer(
      input.renderer,
      tokenizer,
    ).parseCompletion(tokens);

    if (isFailure(expected)) {
      // The reference raises at a doubled stop token; we report what it is.
      expect(input.kind).toBe('double_stop');
      expect({ message, termination }).toEqual({
        message: { role: 'assistant', content: 'a' },
        termination: 'malformed',
      });
      return;
    }
    expect(termination).toBe(expected.termination);
    expect(message.content).toEqual(expected.message.content);
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
const ourStops = stops?.filter(({ input }) => RENDERER_NAMES.includes(input));
if (ourStops) {
  test.each(ourStops)('stops $input where the reference does', ({ input, expected }) => {
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
  test.each(models)(
    'recommends for $input what the reference does, or the chat template',
    ({ input, expected }) => {
      const first = expected.recommended_renderers?.[0] ?? 'chat_template';
      expect(recommendedRenderer(input)).toBe(RENDERER_NAMES.includes(first) ? first : 'chat_template');
    },
  );
} else {
  test.skip('recommended renderers: the behaviour vectors are not on this machine', () => undefined);
}
