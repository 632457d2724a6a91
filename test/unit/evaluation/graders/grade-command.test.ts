import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCommand } from '../../../../src/cli/commands/grade';
import { exitCodeOf } from '../../../../src/cli/exit-codes';
import { mathEquivalenceRows } from '../../../../src/evaluation/graders/math/math-graders';

const ROW = { question: 'How many?', answer: 'Two and two.\n#### 4' };

let folder: string;
let printed: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-grade-test-'));
  printed = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  jest.spyOn(process.stderr, 'write').mockImplementation(() => true);
});

afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

function inputFile(content: string): string {
  const file = join(folder, 'in.jsonl');
  writeFileSync(file, content);
  return file;
}

function lines(...responses: string[]): string {
  return responses.map((response) => `${JSON.stringify({ example: ROW, response })}\n`).join('');
}

async function run(...args: string[]): Promise<void> {
  await createCommand().exitOverride().parseAsync(args, { from: 'user' });
}

async function codeOf(...args: string[]): Promise<[number, string]> {
  try {
    await run(...args);
    return [0, ''];
  } catch (error) {
    return [exitCodeOf(error), String(error)];
  }
}

function results(file: string): unknown[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

test('writes a line for each line in order, also for an empty response', async () => {
  const output = join(folder, 'out.jsonl');

  await run('gsm8k', '--input', inputFile(lines('#### 4', '', 'It is 5.')), '--output', output);

  expect(results(output)).toEqual([
    { score: 1, answer: '4', metrics: {}, details: { target: '4' } },
    { score: 0, answer: null, metrics: {}, details: { target: '4' } },
    { score: 0, answer: '5', metrics: {}, details: { target: '4' } },
  ]);
  expect(printed).toMatch(
    /^gsm8k: 3 graded, score 0\.3333 ± 0\.3333 \(standard error\), 1 without an answer\. Written to /,
  );
});

test('writes details of each instruction for ifeval', async () => {
  const output = join(folder, 'out.jsonl');
  const example = { instruction_id_list: ['startend:quotation', 'punctuation:no_comma'], kwargs: [{}, {}] };

  await run(
    'ifeval',
    '--input',
    inputFile(JSON.stringify({ example, response: '*"a"*' })),
    '--output',
    output,
  );

  expect(results(output)).toMatchObject([
    { score: 0, details: { strict: [false, true], loose: [true, true] } },
  ]);
  expect(printed).toContain('instruction_strict 0.5000, instruction_loose 1.0000');
});

test('a pattern without end is what becomes of its line, and the others are graded', async () => {
  const output = join(folder, 'out.jsonl');
  const patterns = ['^(a|a)*$', '^a'].map((pattern) => ({
    example: { pattern },
    response: `${'a'.repeat(40)}!`,
  }));
  const before = process.exitCode;

  await run(
    'regex',
    '--input',
    inputFile(patterns.map((line) => `${JSON.stringify(line)}\n`).join('')),
    '--output',
    output,
  );
  const code = process.exitCode;
  process.exitCode = before;

  expect(code).toBe(1);
  expect(results(output)).toMatchObject([
    { score: null, answer: null, error: expect.stringMatching(/did not end within/) as string },
    { score: 1 },
  ]);
  expect(printed).toContain('regex: 1 graded, score 1.0000');
  expect(printed).toContain('1 not graded (see "error")');
});

test.each([
  ['9007199254740993', '9007199254740992', 0],
  ['9007199254740993', '9007199254740993', 1],
  ['0.12345678901234567891', '0.12345678901234567892', 0],
  ['1.50e20', '150000000000000000000', 1],
  ['1e400', '2e400', 0],
  ['-0.0', '0', 1],
])('a number %s of a row is compared with %s by its digits', async (target, response, score) => {
  const output = join(folder, 'out.jsonl');
  const line = `{"example": {"target": {"n": ${target}}}, "response": ${JSON.stringify(`{"n": ${response}}`)}}`;

  await run('json_match', '--input', inputFile(line), '--output', output);

  expect(results(output)).toMatchObject([{ score }]);
});

test('a row of ifeval without instructions is refused by its line', async () => {
  const line = JSON.stringify({ example: { instruction_id_list: [], kwargs: [] }, response: 'a' });

  expect(await codeOf('ifeval', '--input', inputFile(line))).toEqual([
    2,
    expect.stringMatching(/line 1: .*"instruction_id_list" is empty/) as string,
  ]);
});

test('an empty file gives an empty file', async () => {
  const output = join(folder, 'out.jsonl');

  await run('gsm8k', '--input', inputFile(''), '--output', output);

  expect(readFileSync(output, 'utf8')).toBe('');
});

test.each([
  ['is cut off', '{"example": {', /in\.jsonl: line 3 is not JSON/],
  ['has no response', '{"example": {}}', /line 3 has no "response" as text/],
  ['has no example', '{"response": "x"}', /line 3 has no "example" as an object/],
  ['is a list', '[]', /line 3 has no "example"/],
  ['is blank before another', '\n{}', /line 3 is blank/],
  [
    'has a row the grader cannot use',
    '{"example": {}, "response": "x"}',
    /line 3: example: no text under "answer"/,
  ],
])('a line that %s ends it with exit code 2, and the old output stays', async (_, line, message) => {
  const output = join(folder, 'out.jsonl');
  writeFileSync(output, 'before');

  const [code, text] = await codeOf(
    'gsm8k',
    '--input',
    inputFile(lines('4', '5') + line),
    '--output',
    output,
  );

  expect(code).toBe(2);
  expect(text).toMatch(message);
  expect(readFileSync(output, 'utf8')).toBe('before');
  expect(readdirSync(folder).sort()).toEqual(['in.jsonl', 'out.jsonl']);
});

test('reads a byte order mark, CRLF, blank lines at the end, and line separators within text', async () => {
  const output = join(folder, 'out.jsonl');
  const line = JSON.stringify({ example: ROW, response: 'four\u2028is 4' });

  await run('gsm8k', '--input', inputFile(`\ufeff${line}\r\n${line}\n\n\n`), '--output', output);

  expect(results(output)).toHaveLength(2);
});

test('reads lines and letters that are cut by the reading of chunks', async () => {
  const output = join(folder, 'out.jsonl');
  const long = '漢'.repeat(50_000);

  await run('gsm8k', '--input', inputFile(lines(`${long} 4`, `${long}x 5`)), '--output', output);

  expect(results(output)).toMatchObject([{ answer: '4' }, { answer: '5' }]);
});

test('refuses bytes that are no text', async () => {
  const file = join(folder, 'in.jsonl');
  writeFileSync(file, Buffer.from([0x22, 0xff, 0x22]));

  expect(await codeOf('gsm8k', '--input', file)).toEqual([2, expect.stringContaining('line 1 is not UTF-8')]);
});

test('without --output the results are printed, all or nothing', async () => {
  await run('gsm8k', '--input', inputFile(lines('4', '5')));
  expect(printed.trim().split('\n')).toHaveLength(2);

  printed = '';
  await codeOf('gsm8k', '--input', inputFile(`${lines('4')}{`));
  expect(printed).toBe('');
});

test('--json prints one document: with the results where they go nowhere else', async () => {
  await run('gsm8k', '--input', inputFile(lines('4', '5')), '--json');
  expect(JSON.parse(printed)).toMatchObject({
    grader: 'gsm8k',
    version: 'gsm8k@7',
    count: 2,
    score: 0.5,
    unansweredCount: 0,
    results: [{ score: 1 }, { score: 0 }],
  });

  printed = '';
  const output = join(folder, 'out.jsonl');
  await run('gsm8k', '--input', inputFile(''), '--output', output, '--json');
  expect(JSON.parse(printed)).toMatchObject({ count: 0, score: null, output });
});

test('--list names the graders and the fields they read', async () => {
  await run('--list');

  expect(printed).toMatch(/^gsm8k +answer; /);
  expect(printed.trim().split('\n')).toHaveLength(25);
});

test.each([
  [['nope', '--input', 'x'], /Unknown grader "nope"/],
  [['gsm8k'], /--input <file>/],
  [[], /Name a grader/],
  [['gsm8k', '--input', '/nowhere/in.jsonl'], /cannot be read/],
])('%j is refused with exit code 2', async (args, message) => {
  const [code, text] = await codeOf(...args);

  expect(code).toBe(2);
  expect(text).toMatch(message);
});

test('an output that cannot be written is said', async () => {
  const [code, text] = await codeOf(
    'gsm8k',
    '--input',
    inputFile(''),
    '--output',
    join(folder, 'no', 'out.jsonl'),
  );

  expect(code).toBe(2);
  expect(text).toMatch(/cannot be written/);
});

test('a file that a grader lacks is no output that cannot be written', async () => {
  const missing = Object.assign(new Error("ENOENT: no such file or directory, open '/verifier/rules'"), {
    code: 'ENOENT',
  });
  jest.spyOn(mathEquivalenceRows, 'readLine').mockImplementation(() => {
    throw missing;
  });
  const output = join(folder, 'out.jsonl');

  const [, text] = await codeOf('math-equivalence', '--input', inputFile('{}\n'), '--output', output);

  expect(text).toMatch(/ENOENT.*rules/);
  expect(readdirSync(folder)).toEqual(['in.jsonl']);
});
