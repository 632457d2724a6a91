import { parseVisibilityQuery, requireWholeQuery } from '../../../src/core/visibility-query';
import type { FuzzTarget } from '../target';
import { passAll, textOf } from '../target';

/** List filters that the store answers. */
export const target: FuzzTarget = {
  name: 'queries',
  seeds: () => [
    'EverstepKind = "sft" AND (EverstepScore > 0.5 OR NOT EverstepStep IN (1, 2))',
    'EverstepRun STARTS_WITH "a" AND EverstepStep BETWEEN 1 AND 3 AND CloseTime IS NOT NULL',
  ],
  words: ['AND', 'OR', 'NOT', 'IN', 'BETWEEN', 'IS NULL', '((', '))', '`', '--', '1e999', '"\\"'],
  run: (bytes) =>
    passAll([
      () => {
        requireWholeQuery(textOf(bytes));
      },
      () =>
        parseVisibilityQuery(textOf(bytes), [
          'EverstepKind',
          'EverstepScore',
          'EverstepStep',
          'EverstepRun',
          'CloseTime',
        ])({
          ...{ EverstepKind: 'sft', EverstepScore: null, EverstepStep: 2, EverstepRun: 'a', CloseTime: null },
        }),
    ]),
};
