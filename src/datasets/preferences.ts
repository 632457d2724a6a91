import type { Fields } from './kind-of';
import { RowProblem } from './row-problem';

const NOT_TRAINED =
  'which no run trains on: sft and rl are the kinds there are (docs/configuration.md, Data)';
/** Also as tables write them. */
const YES_OR_NO = /^(?:true|false|0|1)$/i;

/**
 * Refuses rows that say which of two replies is better, or whether one is wanted: to train on all of them would train the bad ones
 * too. A field in `ignored` says nothing; `chosen` may be read as another.
 */
export function refusePreferences(
  row: Fields,
  { ignored, isChosenRead }: { readonly ignored: ReadonlySet<string>; readonly isChosenRead: boolean },
): void {
  const says = (key: string) => has(row, key) && !ignored.has(key);
  if (says('rejected') && (isChosenRead || says('chosen'))) {
    throw new RowProblem(
      `the row is a preference pair ("chosen" and "rejected"), ${NOT_TRAINED}. ` +
        `To train the chosen replies alone, set dataset.fields to ${fieldsFor(row['chosen'])} and dataset.ignoreKeys to [rejected].`,
    );
  }
  if (says('label') && has(row, 'prompt') && has(row, 'completion') && YES_OR_NO.test(String(row['label']))) {
    throw new RowProblem(
      `field "label": the row says whether its completion is wanted (as for KTO), ${NOT_TRAINED}. ` +
        `To train the wanted ones alone, remove the other rows and set dataset.ignoreKeys to [label].`,
    );
  }
}

/** Whole conversations, or the reply by itself. */
function fieldsFor(chosen: unknown): string {
  return Array.isArray(chosen) && chosen.length > 1 ? '{messages: chosen}' : '{completion: chosen}';
}

function has(row: Fields, key: string): boolean {
  return row[key] !== undefined && row[key] !== null && row[key] !== '';
}
