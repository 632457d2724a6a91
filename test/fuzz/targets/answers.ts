import { splitThinking, withoutReasoning } from '../../../src/core/reasoning';
import { readCalls, readForeignCalls } from '../../../src/evaluation/graders/bfcl/read-calls';
import { choiceLetter, loneLetter } from '../../../src/evaluation/graders/choices/choice-letter';
import {
  calledIn,
  definesAtTop,
  extractCode,
  findCodeBlock,
} from '../../../src/evaluation/graders/code/extract-code';
import { readGrade, readRating, readTaggedScore } from '../../../src/evaluation/judges/read-verdicts';
import type { FuzzTarget } from '../target';
import { textOf } from '../target';

/** What a model answered, as choices, programs, calls and verdicts are read from it: never an error. */
export const target: FuzzTarget = {
  name: 'answers',
  seeds: () => [
    '<think>so</think>The answer is (B).',
    '```python\ndef f(x):\n    return x\n```\nand ```py\nprint(1)\n```',
    '[f(a=1, b="x"), g.h(c=[1, {"k": (2,)}])]',
    'new F().call(1, "a".b, List.of(1,2))',
    '[[A>B]] Rating: [[7]] <score>0.5</score> GRADE: C',
  ],
  words: [
    '```',
    '~~~',
    '**',
    'answer is',
    '\\boxed{',
    '(',
    ')',
    '[[',
    '<think>',
    '</think>',
    'def ',
    "'''",
    '0x',
    '1e999',
    '1_0',
    'lambda',
  ],
  isRefusal: () => false,
  run(bytes) {
    const text = textOf(bytes);
    for (const count of [2, 4, 10, 26]) {
      choiceLetter(text, count);
      loneLetter(text, count);
    }
    findCodeBlock(text, ['f']);
    extractCode(text, ['f']);
    calledIn([text]);
    definesAtTop(text, 'f');
    readCalls(text);
    readForeignCalls(text, 'java');
    readForeignCalls(text, 'javascript');
    readGrade(text, ['A', 'B', 'C']);
    readRating(text);
    readTaggedScore(text);
    splitThinking(text);
    withoutReasoning(text);
  },
};
