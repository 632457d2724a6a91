import { DomainError } from '../../core/errors';
import { judgeGradeRows, judgeRatingRows } from '../judges/verdict-rows';
import { arenaHardRows } from './arena-hard';
import { bfcl } from './bfcl/bfcl';
import { ceval, gpqa, mmluPro, mmluRedux, superGpqa } from './choices/choice-graders';
import { codeTests } from './code/code-tests';
import { humaneval } from './code/humaneval';
import { livecodebench } from './code/livecodebench/livecodebench';
import { mbpp } from './code/mbpp';
import { ifeval } from './ifeval/ifeval';
import { longbench } from './longbench/longbench';
import { aimeRows, hmmtRows, math500Rows, mathEquivalenceRows } from './math/math-graders';
import { gsm8k } from './numbers/gsm8k';
import type { RowGrader } from './row-grader';
import { arithmeticRows, containsRows, exactMatchRows, jsonMatchRows, regexRows } from './text-graders';

/** Every grader that works on rows in their publishers' field names. */
export const ROW_GRADERS: readonly RowGrader[] = [
  gsm8k,
  math500Rows,
  aimeRows,
  hmmtRows,
  mathEquivalenceRows,
  arithmeticRows,
  mmluPro,
  mmluRedux,
  gpqa,
  superGpqa,
  ceval,
  ifeval,
  longbench,
  humaneval,
  mbpp,
  livecodebench,
  codeTests,
  bfcl,
  arenaHardRows,
  exactMatchRows,
  containsRows,
  regexRows,
  jsonMatchRows,
  judgeGradeRows,
  judgeRatingRows,
];

/** By name; hyphens may stand for underscores. */
export function findRowGrader(name: string): RowGrader {
  const wanted = name.replaceAll('-', '_').toLowerCase();
  const grader = ROW_GRADERS.find((known) => known.name === wanted);
  if (grader) return grader;
  const known = ROW_GRADERS.map((each) => each.name).join(', ');
  throw new DomainError('unknown-evaluator', `Unknown grader "${name}". Known: ${known}.`);
}
