/** Whole conversations and what is declared in them: repeated as they are, or not at all. */
const CONVERSED = [
  ...['system', 'system_prompt', 'system_message', 'developer', 'tools', 'functions'],
  ...['history', 'chat_history', 'messages', 'conversation', 'conversations', 'dialog', 'dialogue', 'turns'],
];
/** What stands beside a question in the data sets of the field. A text of these may stand in the question already. */
const BESIDE = [
  ...['prompt', 'user_prompt', 'question', 'question_content', 'question_text', 'question_body', 'query'],
  ...['problem', 'problem_text', 'problem_statement', 'problem_description', 'text', 'body', 'content'],
  ...['statement', 'statements', 'instruction', 'instructions', 'request', 'task_description', 'goal'],
  ...['input', 'inputs', 'choices', 'options', 'hint', 'hints', 'image', 'images', 'picture', 'pictures'],
  ...['figure', 'figures', 'diagram', 'diagrams', 'chart', 'graph', 'caption', 'audio', 'video'],
  ...['context', 'contexts', 'passage', 'passages', 'paragraph', 'paragraphs', 'article', 'articles'],
  ...[
    'document',
    'documents',
    'excerpt',
    'abstract',
    'story',
    'narrative',
    'scenario',
    'situation',
    'setting',
  ],
  ...['background', 'introduction', 'preamble', 'lecture', 'pre_text', 'post_text', 'source_text'],
  ...['premise', 'premises', 'hypothesis', 'hypotheses', 'given', 'givens', 'fact', 'facts', 'evidence'],
  ...['knowledge', 'observation', 'observations', 'assumption', 'assumptions', 'definition', 'definitions'],
  ...['table', 'tables', 'data', 'schema', 'schemas', 'db_schema', 'unit', 'units'],
  ...['description', 'descriptions', 'detail', 'details', 'note', 'notes', 'title', 'guidelines', 'rules'],
  ...['constraint', 'constraints', 'requirement', 'requirements', 'specification', 'persona'],
  ...['example', 'examples', 'few_shot', 'few_shot_examples', 'demonstration', 'demonstrations'],
  ...['input_format', 'output_format', 'input_description', 'output_description', 'input_specification'],
  ...['output_specification', 'sample_input', 'sample_inputs', 'sample_output', 'sample_outputs'],
  ...['sample_io', 'samples', 'public_tests', 'sample_tests', 'code', 'code_context', 'code_snippet'],
  ...['snippet', 'starter_code', 'template', 'signature', 'function_signature', 'function_header', 'header'],
  ...['docstring', 'declaration', 'interface'],
];

const CONVERSED_KEYS = new Set(CONVERSED.map(squeezed));
const BESIDE_KEYS = new Set(BESIDE.map(squeezed));

/** What a field of a row says to whoever reads the row; null where it is about the answer, or about the row. */
export function speechIn(key: string): 'conversation' | 'words' | null {
  if (CONVERSED_KEYS.has(squeezed(key))) return 'conversation';
  return BESIDE_KEYS.has(squeezed(key)) ? 'words' : null;
}

/** Names are the same in any capitals, and with or without lines between their words. */
export function squeezed(key: string): string {
  return key.replaceAll(/[\s_-]/g, '').toLowerCase();
}
