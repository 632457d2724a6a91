import type { PythonAsk } from '../../../../src/core/python';
import { declarePythonGrader, openGrader } from '../../../../src/evaluation/python/python-grader';

const example = { id: 'one', messages: [], target: '7' };
const declared = declarePythonGrader({ python: 'exact' }, 'abc');

interface Items {
  readonly items: readonly { readonly completion: string }[];
}

function openWith(answer: (items: Items['items']) => unknown) {
  const asked: PythonAsk[] = [];
  const opened = openGrader(declared, {
    link: {
      async ask(work) {
        asked.push(work);
        const { items } = work.input as unknown as Items;
        return answer(items);
      },
    },
    signal: new AbortController().signal,
    timeoutMs: 5000,
  });
  return { ...opened, asked };
}

test('judges what arrives together in one batch, in its order', async () => {
  const { grader, asked } = openWith((items) => ({
    scores: items.map(({ completion }) => ({ value: Number(completion === '7'), answer: completion })),
  }));

  const scores = await Promise.all(
    ['7', '8', '7'].map(async (completion) => grader.grade(completion, example)),
  );

  expect(scores.map(({ value }) => value)).toEqual([1, 0, 1]);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({
    taskQueue: 'everstep-python',
    input: { grader: 'exact', timeoutSeconds: 5 },
  });
});

test('cuts batches at 200 completions and at 400 kB', async () => {
  const { grader, asked } = openWith((items) => ({ scores: items.map(() => ({ value: 1, answer: null })) }));

  await Promise.all(Array.from({ length: 450 }, async () => grader.grade('x', example)));
  const bySize = asked.splice(0).map(({ input }) => (input as unknown as Items).items.length);
  await Promise.all(Array.from({ length: 3 }, async () => grader.grade('x'.repeat(250_000), example)));

  expect(bySize).toEqual([200, 200, 50]);
  expect(asked).toHaveLength(3);
});

test('keeps the scores of a batch in which one fails', async () => {
  const { grader } = openWith(() => ({ scores: [{ error: 'ValueError: no' }, { value: 1, answer: '7' }] }));

  const [first, second] = await Promise.allSettled([grader.grade('a', example), grader.grade('b', example)]);

  expect(first).toMatchObject({ status: 'rejected', reason: { message: 'ValueError: no' } });
  expect(second).toMatchObject({ status: 'fulfilled', value: { value: 1 } });
});

test('refuses a completion too large to send, and a place without a way to Python', async () => {
  const { grader } = openWith(() => ({ scores: [] }));

  await expect(grader.grade('x'.repeat(1_600_000), example)).rejects.toThrow('Example "one"');
  expect(() => declared.grade('x', example)).toThrow('Grader "exact" is written in Python');
});
