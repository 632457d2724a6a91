import { CASE_CHECKS } from './case-checks';
import type { Check } from './check';
import { FORMAT_CHECKS } from './format-checks';
import { LENGTH_CHECKS } from './length-checks';
import { WORDING_CHECKS } from './wording-checks';

/** The 25 instructions of IFEval by their official ids. */
export const CHECKS: Readonly<Record<string, Check>> = {
  ...WORDING_CHECKS,
  ...LENGTH_CHECKS,
  ...FORMAT_CHECKS,
  ...CASE_CHECKS,
};
