/** Where ours is on purpose, or still, not what the reference makes of a case. docs/renderers.md has the reasons at length. */
export interface KnownDifference {
  readonly ids: RegExp;
  readonly reason: string;
  /** Nobody wants it so. */
  readonly isOpen?: true;
}

const OWN = String.raw`^[a-z0-9_@]+\/\w+\/`;
/** Ours but for gpt-oss, whose differences are named one by one. */
const OTHER = String.raw`^(?!gpt_oss)[a-z0-9_@]+\/\w+\/`;
const MODEL = String.raw`^[A-Za-z][\w.-]+\/template-\w+\/`;
const GPT = String.raw`^(gpt_oss_\w+|gpt-oss-20b)\/`;

function of(pattern: string): RegExp {
  return new RegExp(pattern);
}

const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  { ids: of(`${OWN}(marks-[\\w-]+|tool-marks)$`), reason: 'words of people and models forge no turn' },
  {
    ids: of(
      `${OTHER}(call-arguments(-escaped|-tight)?|call-argument-strings|call-unicode-result|tools-nested)$`,
    ),
    reason: 'the cookbook writes JSON again, ours keeps its spelling',
  },
  {
    ids: of(`${OTHER}call-(big-number|whole-float|booleans|null|no-arguments|hyphen)$`),
    reason: 'the cookbook writes JSON again, ours keeps its spelling; DeepSeek ends a reply that calls tools',
  },
  {
    ids: of(`${OTHER}(call-(values|tight|duplicate-key)|xml-values|xml-lines)$`),
    reason: 'arguments keep the spelling and the indentation that the model wrote',
  },
  { ids: of(`${OWN}call-nan$`), reason: 'NaN is no JSON: the call is reported' },
  { ids: of(`${OWN}call-list$`), reason: 'arguments are an object, else the call is reported' },
  { ids: of(`${OWN}(double-end|two-returns)$`), reason: 'a bad completion is data: malformed' },
  {
    ids: of(`${OWN}(text-parts|(role_colon|llama3|deepseek)?think-part[\\w-]*)$`),
    reason:
      'the cookbook refuses messages of several parts, or gives loss to the <think> that the prompt has',
  },
  {
    ids: of(
      `${OTHER}(calls?-(several|text-several|two-rounds|two-questions|thinking|thinking-rounds)|ends-with-tools)$`,
    ),
    reason:
      'reasoning stays while tools answer, answers in a row share a message, as in the models’ templates',
  },
  {
    ids: of(
      '^nemotron3\\w*/(prompt|supervised|prefill)/(spaces-|control-|crlf|long|tools?-|calls?-|think-|ends-)',
    ),
    reason: 'the space around words and empty descriptions are the templates’',
  },
  {
    ids: of('^deepseekv3\\w*/parse/call-(no-separator|spaces)$'),
    reason: 'calls are read with space around their parts, and reported where they cannot be',
  },
  {
    ids: of(
      '^deepseekv3\\w*/(prefill|prompt|supervised)/(call-(answered|last)|ends-with-tool|tool-(empty|nameless)|(all|assistant)-empty[\\w-]*)(/\\w+)?$',
    ),
    reason: 'replies end with their stop token, also before what tools answer and where they are empty',
  },
  {
    ids: of(
      '^deepseekv3\\w*/supervised/(role-(critic|developer)|system-later|two-systems|think-string(-history)?)$',
    ),
    reason: 'system messages, roles and reasoning are the template’s',
  },
  {
    ids: of('^qwen3_disable_thinking/supervised/(no-user|only-assistant)$'),
    reason: 'the cookbook refuses them, ours where the reply would be trained as it is never sampled',
  },
  {
    ids: of('^role_colon(@\\w+)?/supervised/(ends-with-user|think-part)'),
    reason: 'the cookbook writes <UNUSED> after a user, and refuses parts',
  },
  {
    ids: of(`${OWN}think-empty$`),
    reason: 'an empty block is no reasoning; the cookbook reads <think> as a word of it',
  },
  {
    ids: of(
      `${GPT}parse/(call(-after-channel|-bad-json|-empty|-no-message|-number|-browser|-then-return)?|final-empty)$`,
    ),
    reason: 'content holds what is said, not the raw text of calls and channels',
  },
  { ids: of(`${GPT}parse/unknown-channel$`), reason: 'the text of an unknown channel is kept' },
  {
    ids: of(
      `${GPT}(prompt|supervised)/(calls-several|calls-text-several|ends-with-tools|calls-thinking-rounds|call-answered-system)$`,
    ),
    reason:
      'calls after the first and words beside a call, which the template leaves out or raises on, are written as Harmony has them, all else as the template does',
  },
  {
    ids: of(
      `${GPT}(supervised/(call-last|call-big-number|call-arguments-escaped)|prompt/(call-last|call-argument-strings|two-assistants))$`,
    ),
    reason: 'as the template; there is no case of it for this conversation',
  },
  {
    ids: of(`${GPT}(prompt|supervised)/call-(arguments(-escaped)?|whole-float)$`),
    reason: 'numbers and escapes of arguments keep the spelling they were given',
  },
  {
    ids: of(
      `${GPT}template-\\w+/[^/]+/(system-later|two-systems|calls?-(several|text-several|answered-system)|ends-with-tools)$`,
    ),
    reason: 'a system message, call or words that the template leaves out are refused',
  },
  {
    ids: of('^llama3/(prompt|supervised|prefill)/spaces-'),
    reason: 'the space around words goes, as in the model’s template',
  },
  {
    ids: of('^\\w+/(prompt|supervised|prefill)/spaces-system$'),
    reason: 'words of systems and users are encoded with their header, as the model’s template is',
  },
  {
    ids: of('^GLM[\\w.-]*/template-whole/'),
    reason: 'what generation stops at is trained after the last reply, where the template writes nothing',
  },
  {
    ids: of(`${OTHER}calls-undeclared$`),
    reason: 'calls that a renderer does not write are refused, not dropped',
  },
  {
    ids: of(`${MODEL}[^/]+/role-(critic|developer)$`),
    reason: 'a message that the template leaves out is refused',
  },
  {
    ids: of(
      `^((Meta-Llama-3-8B-Instruct|gemma-3-4b-it)/template-|DeepSeek-V3\\.1/template-\\w+/[^/]+/(tools?-|calls?-|ends-with-tools?$))`,
    ),
    reason: 'a template without tools would drop the declarations and calls: refused',
  },
  {
    ids: of('^qwen3_[58]\\w*/(prompt|supervised|prefill)/(tools?-|calls?-|ends-with-tools?$)'),
    reason: 'tools are declared in OpenAI’s nesting, as in the models’ templates',
  },
  {
    ids: of('^\\w+_disable_thinking/supervised/think-string(-history|-close-only)?$'),
    reason: 'reasoning is refused in every mode where prompts rule it out',
  },
  {
    ids: of('^nemotron3\\w*/(prompt|supervised)/(odd-spaces|(user|all)-empty)$'),
    reason: 'the space around words, and before the note of effort, is the templates’',
  },
  {
    ids: of('^kimi_k2\\w*/(prompt|supervised)/tool-nameless$'),
    reason: 'an answer without name or id is matched with its call',
  },
  {
    ids: of('^kimi_k2\\w*/parse/call-(no-separator|bare-id)$'),
    reason: 'the cookbook drops the call in silence; ours reads or reports it',
  },
  {
    ids: of(
      '^(Qwen3-4B-Instruct-2507|Llama-3\\.1-8B-Instruct|DeepSeek-V3\\.1)/template-whole/[^/]+/(think-(part|string)[\\w-]*|calls-thinking-rounds)$',
    ),
    reason: 'reasoning of a reply that the template leaves out is refused',
  },
  {
    ids: of('^Llama-3\\.1-8B-Instruct/template-whole/[^/]+/call-(text-last|answered-system)$'),
    reason: 'words beside a call that the template leaves out are refused',
  },
  {
    ids: of('^MiniMax-M2/template-\\w+/[^/]+/(system-later|two-systems)$'),
    reason: 'a later system message that the template leaves out is refused',
  },
  { ids: of(`${OWN}think-spaces$`), reason: 'the cookbook reads <think> as a word of the reasoning' },
];

export function knownDifference(id: string): KnownDifference | undefined {
  return KNOWN_DIFFERENCES.find(({ ids }) => ids.test(id));
}
