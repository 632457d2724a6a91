import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';

/** What a benchmark of an eval run, or an evaluator run alone, can be searched by on the server. */
export function searchAttributesOfEval(
  kind: 'benchmark' | 'evaluator',
  { run, model }: { readonly run: string; readonly model: string },
): SearchAttributePair[] {
  const keyword = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
  return [
    { key: keyword('EverstepKind'), value: kind },
    { key: keyword('EverstepRun'), value: run },
    { key: keyword('EverstepModel'), value: model },
    // Only a benchmark says how it ended.
    ...(kind === 'benchmark' ? [{ key: keyword('EverstepStatus'), value: 'running' }] : []),
  ];
}
