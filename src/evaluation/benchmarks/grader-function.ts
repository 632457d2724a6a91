import { inspect } from 'node:util';
import type { Example } from '../example';
import type { Grader, Score } from '../graders/grader';

interface FunctionGrader {
  readonly name: string;
  readonly version: string;
  readonly judge: (completion: string, example: Example) => unknown;
}

/** A grader from a function that returns 0…1, a boolean or a whole score. */
export function graderFromFunction({ name, version, judge }: FunctionGrader): Grader {
  return {
    name,
    version,
    async grade(completion, example) {
      return scoreFrom(await judge(completion, example), completion);
    },
  };
}

/** The function may be plain JavaScript and return anything; a number beyond 0 to 1 is refused where scores are counted. */
function scoreFrom(given: unknown, completion: string): Score {
  if (typeof given === 'number' || typeof given === 'boolean') {
    return { value: Number(given), answer: completion.trim() || null };
  }
  if (typeof given !== 'object' || given === null) throw noScore(given);
  const { answer = completion.trim() || null, ...rest } = { answer: undefined, ...given };
  const score = { ...rest, answer };
  if (isScore(score)) return score;
  throw noScore(given);
}

function isScore(given: { readonly answer: unknown }): given is Score {
  const { answer, value } = { value: null, ...given };
  return typeof value === 'number' && (answer === null || typeof answer === 'string');
}

const MOST_SHOWN = 80;

function noScore(given: unknown): Error {
  return new Error(
    `the grader has to return a number from 0 to 1, true or false, or {value, answer}; it returned ${inspect(given, { depth: 1, breakLength: Infinity }).slice(0, MOST_SHOWN)}`,
  );
}
