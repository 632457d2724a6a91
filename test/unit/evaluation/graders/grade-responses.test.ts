import { gradeResponses } from '../../../../src/evaluation/graders/grade-responses';
import { mathEquivalenceRows } from '../../../../src/evaluation/graders/math/math-graders';
import type { RowGrader } from '../../../../src/evaluation/graders/row-grader';

async function* chunksOf(text: string): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.from(text));
}

const LINE = '{"example": {}, "response": "x"}\n';

test('a grader that breaks is an error that names the line, not a score of 0', async () => {
  let count = 0;
  const grader: RowGrader = {
    name: 'broken',
    version: 'broken@1',
    description: '',
    grade: () => {
      if (++count === 2) throw new TypeError('no such thing');
      return { value: 1, answer: 'x' };
    },
  };
  const scores: (number | null)[] = [];

  const grading = (async () => {
    for await (const { score } of gradeResponses({ grader, name: 'in', chunks: chunksOf(LINE + LINE) }))
      scores.push(score);
  })();

  await expect(grading).rejects.toThrow(/in: line 2: grader broken failed: TypeError: no such thing/);
  expect(scores).toEqual([1]);
});

test('a grader that takes its time keeps the order', async () => {
  let delay = 20;
  const grader: RowGrader = {
    name: 'slow',
    version: 'slow@1',
    description: '',
    grade: async () => {
      delay /= 2;
      await new Promise((resolve) => setTimeout(resolve, delay));
      return { value: 0.5, answer: String(delay) };
    },
  };
  const answers: (string | number | null)[] = [];

  for await (const { answer } of gradeResponses({ grader, name: 'in', chunks: chunksOf(LINE + LINE) }))
    answers.push(answer);

  expect(answers).toEqual(['10', '5']);
});

test.each([
  ['{"response": "4", "target": "4"}', 'line 1 has no "given" and "expected". Give {"given": "<text>"'],
  ['{"given": "4", "target": "4"}', 'line 1 has no "expected". Give {"given": "<text>"'],
])('names the fields of the form of its own that %s lacks', async (line, message) => {
  const graded = gradeResponses({ grader: mathEquivalenceRows, name: 'in', chunks: chunksOf(line) });

  await expect(graded.next()).rejects.toThrow(message);
});
