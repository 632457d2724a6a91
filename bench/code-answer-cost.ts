/**
 * What the second interpreter costs of an answer that is code: answers that pass are judged there, those that fail beside their tests are not.
 *
 *     npx jiti bench/code-answer-cost.ts
 */
import { findRowGrader } from '../src/evaluation/graders/find-row-grader';
import { processSandboxes } from '../src/sandboxes/process-sandboxes';

const PAIR_COUNT = 60;
const ANSWER = '```python\ndef add(a, b):\n    return a + b\n```';

async function main(): Promise<void> {
  const mbpp = findRowGrader('mbpp');
  const timeOf = async (sum: number): Promise<number> => {
    const began = performance.now();
    await mbpp.grade(ANSWER, { test_list: ['assert add(1, 2) == 3', `assert add(0, 0) == ${sum}`] });
    return performance.now() - began;
  };
  await timeOf(0);
  const [passing, failing]: [number[], number[]] = [[], []];
  for (let pair = 0; pair < PAIR_COUNT; pair++) {
    passing.push(await timeOf(0));
    failing.push(await timeOf(1));
  }
  console.log(
    `passes: ${median(passing)} ms, fails: ${median(failing)} ms (medians of ${PAIR_COUNT} in turn)`,
  );
  await processSandboxes.close();
}

function median(times: readonly number[]): string {
  const middle = [...times].sort((left, right) => left - right).at(times.length / 2) ?? 0;
  return middle.toFixed(0);
}

void main();
