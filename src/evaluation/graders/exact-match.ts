import type { Grader } from './grader';

/** Right when the completion equals the target, apart from white space around either. Case and inner spaces count. */
export function exactMatch(): Grader {
  return {
    name: 'exactMatch',
    version: 'exactMatch@1',
    grade(completion, { target }) {
      const answer = completion.trim();
      if (answer === '' || target === null) return { value: 0, answer: answer || null };
      return { value: Number(answer === target.trim()), answer };
    },
  };
}
