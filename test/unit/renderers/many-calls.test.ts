import { GLM_CALLS, MINIMAX_CALLS, parseBareReply } from '../../../src/renderers/families/bare-tool-calls';
import { compileTemplate } from '../../../src/renderers/template-environment';
import { findDialect } from '../../../src/renderers/template-dialects';

const MANY = 20_000;

test('calls of a section that cannot be read each stand for themselves', () => {
  const dialect = findDialect('[TOOL_CALLS]', '');
  const { unparsedToolCalls = [] } = dialect.parseReply(`[TOOL_CALLS][${'1,'.repeat(MANY)}{"a":2}]`);
  expect(unparsedToolCalls).toHaveLength(MANY + 1);
  expect(unparsedToolCalls.map(({ rawText }) => rawText).join('')).toBe(`${'1'.repeat(MANY)}{"a":2}`);
});

test('and so do invocations of one block', () => {
  const invocation = '<invoke name="f">x</invoke>';
  const reply = `<minimax:tool_call>${invocation.repeat(MANY)}</minimax:tool_call>`;
  const { unparsedToolCalls = [] } = parseBareReply(reply, MINIMAX_CALLS);
  expect(unparsedToolCalls.map(({ rawText }) => rawText).join('')).toBe(invocation.repeat(MANY));
});

test('arguments without an end are looked for once', () => {
  const reply = `<tool_call>f<arg_key>${'a</arg_key><arg_value>'.repeat(100_000)}x</arg_value>y</tool_call>`;
  expect(parseBareReply(reply, GLM_CALLS).message.toolCalls).toBeUndefined();
});

test('lists that are put together in a template are bounded', () => {
  const template = compileTemplate(
    '{% set n = namespace(l=[1]) %}{% for a in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}',
  );
  expect(() => template({})).toThrow('is too long');
});
