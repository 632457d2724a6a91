/**
 * What recipes of the cookbook read from the hub, made small and laid down where they run. `datasets.load_dataset` and
 * `AutoTokenizer.from_pretrained` take a folder of the asked name in the working directory before they ask the hub:
 *
 *     openai/gsm8k/train.jsonl         one row a line; a file's name is its split
 *     openai/gsm8k/README.md           only where a recipe asks for a named configuration
 *     Qwen/Qwen3.5-9B-Base             the model's folder
 */
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { ROOT } from './processes';

/** Those that the recipes take when they are not told otherwise: students, teachers, answerers and graders. */
export const MODEL_NAMES = [
  'Qwen/Qwen3-8B',
  'Qwen/Qwen3.5-4B',
  'Qwen/Qwen3.5-9B',
  'Qwen/Qwen3.5-9B-Base',
  'Qwen/Qwen3.5-397B-A17B',
  'Qwen/Qwen3.6-27B',
  'Qwen/Qwen3.6-35B-A3B',
] as const;

/** Prompts of the recipes are longer than the shipped model's context, for at one token a byte they have many tokens. */
const CONTEXT = 16_384;

/** The cookbook's renderers ask that each of these be one token; the shipped model has as many marks of its own. */
const MARKS: Readonly<Record<string, string>> = {
  '<|user|>': '<|im_start|>',
  '<|assistant|>': '<think>',
  '<|system|>': '</think>',
  '<|end|>': '<|im_end|>',
  '<|eos|>': '<|endoftext|>',
};

/**
 * The shipped model as a folder that the cookbook takes for one of Qwen's: the same weights, a longer context, and
 * marks named as the renderers expect them.
 */
export async function makeModel(folder: string): Promise<void> {
  const shipped = path.join(ROOT, 'models/everstep-tiny');
  await mkdir(folder, { recursive: true });
  for (const file of ['model.safetensors', 'generation_config.json'])
    await copyFile(path.join(shipped, file), path.join(folder, file));
  for (const file of ['config.json', 'tokenizer.json', 'tokenizer_config.json'])
    await writeFile(
      path.join(folder, file),
      adapted(file, renamed(await readFile(path.join(shipped, file), 'utf8'))),
    );
}

function renamed(text: string): string {
  return Object.entries(MARKS).reduce((result, [ours, theirs]) => result.replaceAll(ours, theirs), text);
}

const LENGTHS: Readonly<Record<string, string>> = {
  'config.json': 'max_position_embeddings',
  'tokenizer_config.json': 'model_max_length',
};

function adapted(file: string, text: string): string {
  const key = LENGTHS[file];
  if (key === undefined) return text;
  const content = z.looseObject({ [key]: z.int() }).parse(JSON.parse(text));
  return JSON.stringify({ ...content, [key]: CONTEXT }, null, 2);
}

/** Lays down all models and data sets below `folder`, where the recipes run. */
export async function layDown(folder: string, model: string): Promise<void> {
  for (const name of MODEL_NAMES) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await symlink(model, path.join(folder, name));
  }
  for (const [name, files] of Object.entries(dataSets())) {
    await mkdir(path.join(folder, name), { recursive: true });
    for (const [file, content] of Object.entries(files))
      await writeFile(path.join(folder, name, file), typeof content === 'string' ? content : jsonl(content));
  }
}

type Files = Readonly<Record<string, string | readonly object[]>>;

function dataSets(): Readonly<Record<string, Files>> {
  const train = sums(64);
  const test = sums(8);
  return {
    'HuggingFaceH4/no_robots': {
      'train.jsonl': sums(256).map(conversation),
      'test.jsonl': sums(128).map(conversation),
    },
    'openai/gsm8k': {
      'README.md': splitsOf('main'),
      'train.jsonl': test.map(wordProblem),
      'test.jsonl': test.map(wordProblem),
    },
    'Anthropic/hh-rlhf': { 'train.jsonl': train.map(preference), 'test.jsonl': test.map(preference) },
    'zwhe99/DeepMath-103K': {
      'train.jsonl': train.map(({ question, answer }) => ({ question, final_answer: answer })),
    },
    'allenai/tulu-3-sft-mixture': { 'train.jsonl': train.map(conversation) },
    'open-thoughts/OpenThoughts3-1.2M': { 'train.jsonl': train.map(thoughts) },
    'hicai-zju/SciKnowEval': { 'test.jsonl': train.map(choice) },
    'tangqiaoyu/ToolAlpaca': {
      'train.jsonl': train.map(({ question, answer }) => ({ instruction: question, output: answer })),
    },
    'prometheus-eval/Feedback-Collection': { 'train.jsonl': train.map(feedback) },
    rubric: { 'train.jsonl': train.map(rubric), 'test.jsonl': test.map(rubric) },
    prompts: { 'languages.jsonl': train.map(conversation) },
  };
}

interface Sum {
  readonly question: string;
  readonly answer: string;
}

function sums(count: number): Sum[] {
  return Array.from({ length: count }, (_, index) => {
    const [one, other] = [Math.floor(index / 8) + 1, (index % 8) + 1];
    return { question: `What is ${one} + ${other}?`, answer: String(one + other) };
  });
}

function conversation({ question, answer }: Sum): object {
  return {
    messages: [
      { role: 'user', content: question },
      { role: 'assistant', content: answer },
    ],
  };
}

function wordProblem({ question, answer }: Sum): object {
  return { question, answer: `It is ${answer}.\n#### ${answer}` };
}

function preference({ question, answer }: Sum): object {
  const said = `\n\nHuman: ${question}\n\nAssistant:`;
  return { chosen: `${said} ${answer}`, rejected: `${said} I do not know ${answer}` };
}

function thoughts({ question, answer }: Sum): object {
  return {
    conversations: [
      { from: 'human', value: question },
      { from: 'gpt', value: `<think>\nI count.\n</think>\n\n${answer}` },
    ],
  };
}

function choice({ question, answer }: Sum): object {
  return {
    question,
    choices: { label: ['A', 'B'], text: [answer, `${answer}0`] },
    answerKey: 'A',
    type: 'mcq-4-choices',
    domain: 'Chemistry',
    details: { level: 'L3' },
  };
}

function feedback({ question, answer }: Sum): object {
  const scores = [1, 2, 3, 4, 5].map(
    (score) => [`orig_score${score}_description`, `Right to ${score} of 5.`] as const,
  );
  return {
    orig_instruction: question,
    orig_criteria: 'Is the sum right?',
    orig_reference_answer: answer,
    ...Object.fromEntries(scores),
  };
}

function rubric({ question, answer }: Sum): object {
  return {
    convo: [{ role: 'user', content: question }],
    rubric_items: [
      {
        rubric_str: `Does the chatbot get the answer ${answer}?`,
        extraction_regex: '([0-9])',
        grader_output_format_instruction: 'Output a score from 0 to 9.',
      },
    ],
  };
}

function splitsOf(configuration: string): string {
  const splits = ['train', 'test'].map((split) => `  - split: ${split}\n    path: ${split}.jsonl`);
  return ['---', 'configs:', `- config_name: ${configuration}`, '  data_files:', ...splits, '---', ''].join(
    '\n',
  );
}

function jsonl(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}
