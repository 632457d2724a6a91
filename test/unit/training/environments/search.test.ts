import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassageIndex } from '../../../../src/training/environments/search/passage-index';
import { searchEnvironments } from '../../../../src/training/environments/search/search-environments';
import { readQuestions } from '../../../../src/training/environments/search/search-rows';
import { answerIn, isSameAnswer } from '../../../../src/training/environments/search/text-answer';
import { evaluateEnvironments } from '../../../../src/training/rollouts/evaluate-environments';
import { scriptedPolicy, siteWith } from '../rollouts/scripted-policy';

const CORPUS = [
  {
    id: 'a',
    title: 'Aldora',
    text: 'Aldora is a town on the river Mern. Its bridge was built by Ines Falk.',
  },
  { id: 'b', title: 'Brusk', text: 'Brusk is a harbour. The lighthouse of Brusk was built in 1834.' },
  { id: 'c', title: 'Mern', text: 'The Mern is a river that flows into the Grey Sea.' },
];
const QUESTIONS = [
  { question: 'Who built the bridge of Aldora?', answer: 'Ines Falk', data_source: 'people' },
  { question: 'When was the lighthouse of Brusk built?', answer: ['1834', 'in 1834'], data_source: 'years' },
  {
    question: 'Into which sea does the river of Aldora flow?',
    golden_answers: ['Grey Sea'],
    data_source: 'places',
  },
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-search-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, rows: readonly object[]): string {
  const path = join(folder, name);
  writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
  return path;
}

function environments(over: Partial<Parameters<typeof searchEnvironments>[0]> = {}) {
  return searchEnvironments({
    corpus: write('corpus.jsonl', CORPUS),
    questions: write('questions.jsonl', QUESTIONS),
    resultCount: 1,
    maxTurns: 4,
    testSize: 0,
    formatPenalty: 0.1,
    ...over,
  });
}

test('finds passages by their rare words, best first and the same every time', () => {
  const index = new PassageIndex(CORPUS);

  const found = index.search('Where does the river Mern flow?', 3).map(({ passage }) => passage.id);

  expect(found).toEqual(['c', 'a', 'b']);
  expect(index.search('zebra', 3)).toEqual([]);
  expect(new PassageIndex([]).search('river', 3)).toEqual([]);
});

test.each([
  ['I think.\nAnswer: The Grey Sea!', 'The Grey Sea!', true],
  ['Answer: Red Sea\nNo: Answer: grey  sea', 'grey  sea', true],
  ['The Grey Sea', null, false],
  ['Answer: Red Sea', 'Red Sea', false],
])('reads %j', (text, answer, isRight) => {
  expect(answerIn(text)).toBe(answer);
  expect(answer !== null && isSameAnswer(answer, ['Grey Sea'])).toBe(isRight);
});

/** Searches for the question, for the sea a second time, and answers with what it knows to look for; of the bridge wrongly. */
const policy = scriptedPolicy((prompt) => {
  const turn = prompt.split('<tool_response>').length;
  const question = /user\n([^<]*)<\|im_end\|>/.exec(prompt)?.[1] ?? '';
  const search = (query: string) =>
    `<tool_call>\n{"name": "search", "arguments": {"query_list": ["${query}"]}}\n</tool_call><|im_end|>`;
  if (turn === 1) return search(question);
  if (turn === 2 && question.includes('sea')) return search('river Mern flows');
  const answer = ['1834', 'Grey Sea'].find((each) => prompt.includes(each)) ?? 'unknown';
  return `Answer: ${answer}<|im_end|>`;
});

test('a model that searches finds the answers, in several turns, and the offline evaluation counts them', async () => {
  const dataset = await environments();
  const site = siteWith(policy, { rendererName: 'qwen3_instruct', temperature: 0, contextLength: 8192 });

  const { totals, metrics } = await evaluateEnvironments(
    site,
    { dataset, seed: 0, policyVersion: 0 },
    { signal: new AbortController().signal },
  );

  expect(totals).toEqual({ total_samples: 3, total_correct: 2, accuracy: 2 / 3 });
  expect(metrics).toMatchObject({
    'test/env/years/correct': 1,
    'test/env/all/format': 1,
    'test/env/all/tool_calls': 4 / 3,
    'test/env/places/turns_per_episode': 3,
  });
});

test.each([
  [undefined, 'You answer questions with the help of a search tool'],
  ['Use `search`.', 'Use `search`.'],
  ['', null],
])('begins with the system prompt %j', async (systemPrompt, expected) => {
  const dataset = await environments({ systemPrompt });

  const { messages } = await dataset
    .groupAt(0)
    .make(0, { maxToolCalls: null, toolExecution: 'parallel' })
    .initialObservation();

  const roles = messages.map(({ role }) => role);
  expect(roles).toEqual(expected === null ? ['user'] : ['system', 'user']);
  if (expected !== null) expect(messages[0]?.content).toMatch(new RegExp(`^${expected}`));
});

test('keeps questions apart, and refuses rows that are none, naming the place', async () => {
  const dataset = await environments({ testSize: 1 });

  expect([dataset.length, dataset.test?.length]).toEqual([2, 1]);
  const questions = write('bad.jsonl', [{ question: 'Who?' }]);
  await expect(environments({ questions })).rejects.toThrow('bad.jsonl line 1: field "answer": is missing');
  await expect(environments({ corpus: write('c.jsonl', [{ title: 'x' }]) })).rejects.toThrow(
    'c.jsonl line 1: field "text": is missing',
  );
});

test.each(['corpus', 'questions'])('refuses %s of a file that is not there, by its key', async (key) => {
  await expect(environments({ [key]: '/nowhere/nofile.jsonl' })).rejects.toThrow(
    `environment.${key}: file "/nowhere/nofile.jsonl" cannot be read: it does not exist.`,
  );
});

test('what a row of questions says beside its question is refused, unless it repeats it', async () => {
  const [first] = QUESTIONS;
  const said = first?.question ?? '';
  const prompted = (content: string) => ({ ...first, prompt: [{ role: 'user', content }] });
  const instructed = write('instructed.jsonl', [prompted(`Answer in Dutch. Question: ${said}`)]);

  const taken = await environments({ questions: write('repeated.jsonl', [prompted(`${said}\n`)]) });
  const ignored = await environments({ questions: instructed, ignoreKeys: ['prompt'] });

  expect([taken.length, ignored.length]).toEqual([1, 1]);
  await expect(environments({ questions: instructed })).rejects.toThrow(
    /field "prompt": it would not be asked: .* name it in environment\.ignoreKeys/,
  );
  const more = write('more.jsonl', [{ ...first, system: 'Speak French.' }]);
  await expect(environments({ questions: more })).rejects.toThrow(
    /more\.jsonl line 1: field "system": it would not be asked/,
  );
});

test.each([
  [{ question: '', answer: 'x' }, /field "question": is empty/],
  [{ question: ' ', answer: 'x' }, /field "question": is empty/],
  [{ question: '?!', answer: 'x' }, /field "question": "\?!" is nothing without punctuation/],
  [{ question: 'Who?', answer: '' }, /field "answer": is empty/],
  [{ question: 'Who?', answer: null, golden_answers: [] }, /field "answer": is empty/],
  [{ question: 'Who?', answer: 'the' }, /field "answer": "the" is nothing without punctuation and articles/],
  [{ question: 'Who?', answer: ['Ines', '!'] }, /field "answer": "!" is nothing/],
  [{ question: 'Who?', answer: '[]' }, /field "answer": is empty/],
  [
    { question: 'Who?', golden_answers: "['Ines' 'Falk']" },
    /field "golden_answers": .* no JSON. Write it as JSON/,
  ],
  [{ question: 'Who?', answer: { name: 'Ines' } }, /field "answer": has to be a text or a number/],
  [{ question: 'When?', answer: 9007199254740993 }, /field "answer": is a number of more digits/],
  [{ question: 'Who?', answer: 'Ines', options: ['Ines', 'Falk'] }, /field "options": it would not be asked/],
  [
    { question: 'Who?', answer: 'Ines', golden_answers: ['Falk', 'F.'] },
    /fields "answer" and "golden_answers" give two answers that differ/,
  ],
  [
    { question: 'Who?', golden_answers: ['Ines'], reward_model: { ground_truth: { target: ['Falk'] } } },
    /fields "golden_answers" and "reward_model.ground_truth" give two answers that differ/,
  ],
  [
    { question: 'Who?', answer: 'Ines', possible_answers: '["Falk", "F."]' },
    /fields "answer" and "possible_answers" give two answers that differ/,
  ],
  [{ question: 'Who?', answer: 'Ines', target: 'Falk' }, /fields "answer" and "target" give two answers/],
  [{ question: 'Who?', answer: 'Ines', obj: 'Falk' }, /fields "answer" and "obj" give two answers/],
  [{ question: 'Who?', answer: 'Ines', short_answers: ['Falk'] }, /"answer" and "short_answers" give two/],
  [{ question: 'Who?', answer: 'Ines', answerable: false }, /field "answerable": says that the documents/],
  [
    { question: 'Who?', answer: 'Ines', answers: [{ name: 'Ines' }] },
    /field "answers": has to be a text or a number.*\. Or name it in environment\.ignoreKeys\./,
  ],
  [{ prompt: 'Who?', answer: 'Ines' }, /field "prompt": it would not be asked/],
])('refuses %j by file and line', async (row, words) => {
  const questions = write('odd.jsonl', [...QUESTIONS, row]);

  const building = environments({ questions });
  await expect(building).rejects.toThrow(words);
  await expect(building).rejects.toThrow(
    /odd\.jsonl line 4: .*[^.]\. Questions have rows of question and answer\.$/,
  );
});

test.each([
  ['{"question": "When?", "answer": 1.0}', ['1.0', '1']],
  ['{"question": "When?", "answer": 3.50}', ['3.50', '3.5']],
  ['{"question": "When?", "answer": ["1.0", 2.0, 1e-7, -0, 5]}', ['1.0', '2.0', '2', '1e-7', '-0', '0', '5']],
  [
    '{"question": "When?", "answer": {"value": 0.0000001, "aliases": [7.0]}}',
    ['0.0000001', '1e-7', '7.0', '7'],
  ],
  ['{"question": "When?", "reward_model": {"ground_truth": {"target": [1.50]}}}', ['1.50', '1.5']],
  ['{"question": "When?", "reward_model": "{\\"ground_truth\\": 1.50}"}', ['1.50', '1.5']],
  ['{"question": "When?", "possible_answers": "[1.0, 2]"}', ['1.0', '1', '2']],
  ['{"question": "When?", "answer": 1969}', ['1969']],
])('numbers are compared as %s writes them, and in short', async (row, answers) => {
  const file = join(folder, 'numbers.jsonl');
  writeFileSync(file, row);

  expect((await readQuestions(file)).map((question) => question.answers)).toEqual([answers]);
  expect((await readQuestions(file, ['id'])).map((question) => question.answers)).toEqual([answers]);
});

test.each([
  [{ answer: 'Ines Falk', golden_answers: ['the ines falk', 'Falk'] }, 'Falk'],
  [{ answer: 'I. F.', answer_aliases: ['Ines Falk'], golden_answers: ['Ines Falk'] }, 'i f'],
  [{ answer: { value: 'Falk', aliases: ['Ines'] }, golden_answers: ['Ines', 'Ines Falk'] }, 'Ines Falk'],
  [{ answer: 'Ines', answer_aliases: ['Falk'], aliases: ['Ines Falk'] }, 'Ines Falk'],
  [{ answers: { text: ['Ines', 'Ines Falk'], answer_start: [0, 0] } }, 'Ines Falk'],
  [{ answer: 'Ines', obj: 'ines', short_answers: [{ start: 1 }], answerable: true }, 'Ines'],
  [{ reward_model: { style: 'rule', ground_truth: { target: ['Ines', 'Falk'] } } }, 'Falk'],
  [{ golden_answers: ['Falk'], reward_model: '{"ground_truth": {"target": ["Falk", "Ines"]}}' }, 'Ines'],
  [{ possible_answers: '["Ines", "Falk"]', o_aliases: '["I. Falk"]' }, 'I Falk'],
])('of %j, all are right, such as %j', async (fields, said) => {
  const [read] = await readQuestions(write('both.jsonl', [{ question: 'Who?', ...fields }]));

  expect(isSameAnswer(said, read?.answers ?? [])).toBe(true);
});

test.each([
  [1834, '1834'],
  [[1834, 'in 1834'], 'in 1834'],
  ['["Ines Falk", 1834]', '1834'],
  ['["Ines Falk", 1834]', 'ines falk'],
])('of the answer %j, %j is right', async (answer, said) => {
  const questions = write('typed.jsonl', [{ question: 'Which?', answer, golden_answers: null }]);

  const dataset = await environments({ questions });

  const environment = dataset.groupAt(0).make(0, { maxToolCalls: null, toolExecution: 'parallel' });
  await environment.initialObservation();
  const { signal } = new AbortController();
  const step = await environment.step(
    { role: 'assistant', content: `Answer: ${said}` },
    { stopReason: 'stop', isMalformed: false, signal },
  );
  expect(step.reward).toBe(1);
});

const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`;
const asking = { question: 'Who built it?', answer: 'Ines Falk' };

test('a row with very many fields, answers or words beside the question is read in time that grows with its length', async () => {
  const many = Array.from({ length: 60_000 }, (_, index) => `name ${index}`);
  const keys = Object.fromEntries(many.map((name, index) => [name, index + 0.5]));
  const last = many.at(-1);
  const rows = [
    { ...asking, reward_model: { ...keys, ground_truth: 'Ines Falk' } },
    { ...asking, answer: many, golden_answers: [...many.slice(1).map((name) => `no ${name}`), last] },
    { ...asking, answer: many, short_answers: [...many.slice(1).map((name) => `no ${name}`), last] },
  ];

  const questions = await readQuestions(write('large.jsonl', rows));

  expect(questions.map(({ answers }) => answers.length)).toEqual([2, 120_000, 60_000]);
});

test('what is nested deeper than anybody reads is refused by file and line, also as text', async () => {
  const path = join(folder, 'deep.jsonl');
  const rowWith = (value: string) => `${JSON.stringify(asking).slice(0, -1)},"answers":${value}}\n`;
  writeFileSync(
    path,
    `${JSON.stringify(asking)}\n${rowWith(nested(50_000))}${rowWith(`"${nested(50_000)}"`)}`,
  );

  const reading = readQuestions(path);

  await expect(reading).rejects.toThrow(
    /deep\.jsonl has 2 bad rows of 3:\n {2}- line 2: lists and objects lie more than 500 deep/,
  );
  await expect(reading).rejects.toThrow(/line 3: field "answers": lists and objects lie more than 100 deep/);
});

test('a number beyond all that numbers keep is no answer', async () => {
  const path = join(folder, 'far.jsonl');
  writeFileSync(path, '{"question":"How many?","answer":1e400}\n');

  await expect(readQuestions(path)).rejects.toThrow(/field "answer": is a number of more digits/);
});

test.each([
  ['all', /field "data_source": the tag "all" is that of all problems\. .*environment\.ignoreKeys/],
  ['a\u001b[2J', /data_source.*characters that cannot be shown/],
  ['x'.repeat(300), /data_source.*longer than 200/],
  ['__proto__', /data_source.*taken by JavaScript/],
])('a source that can be no part of the name of a metric is refused: %j', async (source, problem) => {
  const path = write('sources.jsonl', [{ ...asking, data_source: source }]);

  await expect(readQuestions(path)).rejects.toThrow(problem);
  await expect(readQuestions(path, ['data_source'])).resolves.toMatchObject([{ source: 'search' }]);
});

test('more sources than a step can have metrics for are refused', async () => {
  const rows = Array.from({ length: 101 }, (_, index) => ({
    question: `Who built number ${index}?`,
    answer: 'Ines Falk',
    data_source: `source ${index}`,
  }));
  const questions = write('sources.jsonl', rows);

  await expect(environments({ questions })).rejects.toThrow(/has 101 different data_source, of which 100/);
  const ignored = await environments({ questions, ignoreKeys: ['data_source'] });
  expect(ignored.groupAt(0).tags).toEqual(['search']);
  expect(ignored.groupAt(100).tags).toEqual(['search']);
});
