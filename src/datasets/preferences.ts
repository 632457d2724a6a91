import type { Fields } from './kind-of';
import { RowProblem } from './row-problem';

const NOT_TRAINED =
  'which no run trains on: sft and rl are the kinds there are (docs/configuration.md, Data)';
/** What the prompt of a pair is called elsewhere. */
const QUESTIONS = ['question', 'instruction', 'input', 'query'];
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
      `the row is a preference pair ("chosen" and "rejected"), ${NOT_TRAINED}. ${remedyFor(row)}`,
    );
  }
  if (says('label') && has(row, 'prompt') && has(row, 'completion') && YES_OR_NO.test(String(row['label']))) {
    throw new RowProblem(
      `field "label": the row says whether its completion is wanted (as for KTO), ${NOT_TRAINED}. ` +
        `To train the wanted ones alone, remove the other rows and set dataset.ignoreKeys to [label].`,
    );
  }
}

/** Whole conversations, or the reply by itself; what says the same beside it would be read in its place. */
function remedyFor(row: Fields): string {
  const { chosen } = row;
  const ignored = ['rejected', ...['messages', 'conversations'].filter((key) => has(row, key))];
  const setTo = (fields: string) =>
    `To train the chosen replies alone, set dataset.fields to ${fields} and dataset.ignoreKeys to [${ignored.join(', ')}].`;
  if (Array.isArray(chosen) && chosen.length > 1) return setTo('{messages: chosen}');
  if (has(row, 'prompt')) return setTo('{completion: chosen}');
  const prompt = QUESTIONS.find((key) => has(row, key));
  if (prompt !== undefined) return setTo(`{prompt: ${prompt}, completion: chosen}`);
  return 'Its "chosen" is no reply to a prompt of the row: to train the chosen replies alone, write each conversation as a list of messages under "messages".';
}

function has(row: Fields, key: string): boolean {
  return row[key] !== undefined && row[key] !== null && row[key] !== '';
}
