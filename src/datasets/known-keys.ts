import { DEEPEST_JSON, isDeeperThan } from '../core/json-depth';
import { nearestKey } from '../core/nearest-key';
import { NotJson } from './not-json';
import { RowProblem } from './row-problem';

type Fields = Readonly<Record<string, unknown>>;

/** Keys that say nothing to a model: what a row is known by, where it comes from, how it was judged. In any spelling. */
const SAYS_NOTHING = new Set(
  [
    ...['id', '_id', 'uid', 'uuid', 'guid', 'hash', 'index', 'idx', 'row_id', 'example_id', 'sample_id'],
    ...['prompt_id', 'question_id', 'message_id', 'parent_id', 'conversation_id', 'conversation_hash'],
    ...[
      'source',
      'sources',
      'source_url',
      'url',
      'origin',
      'license',
      'dataset',
      'dataset_name',
      'data_source',
    ],
    ...['dataset_source', 'subset', 'split', 'language', 'lang', 'category', 'categories', 'domain', 'tags'],
    ...['difficulty', 'score', 'scores', 'rating', 'ratings', 'quality', 'quality_score', 'reward_score'],
    ...['model', 'model_name', 'generator', 'author', 'annotator', 'created', 'created_at', 'updated_at'],
    ...[
      'timestamp',
      'timestamps',
      'date',
      'time',
      'metadata',
      'meta',
      'num_turns',
      'num_tokens',
      'token_count',
    ],
    ...['score_chosen', 'score_rejected', 'chosen_score', 'rejected_score', 'margin', 'chosen_rating'],
    ...['rejected_rating', 'chosen_model', 'rejected_model'],
    ...['length', 'views', 'avatar_url', 'parallel_tool_calls'],
    // The index that pandas writes beside a table.
    ...['__index_level_0__', 'Unnamed: 0', ''],
  ].map(squeezed),
);

/** What may stand in an object of a row, besides keys that say nothing. */
interface KnownKeys {
  /** Empty for the row itself. */
  readonly field: string;
  readonly known: readonly string[];
  /** By what is known, what rows call it; default the same. */
  readonly called?: (key: string) => string;
  /** Left out by the config's own word. */
  readonly ignored: ReadonlySet<string>;
}

/** Of a key, in what is said of it. */
const MOST_SHOWN = 200;

export const NO_KEYS: ReadonlySet<string> = new Set();

/** Refuses a key nobody reads, with the nearest that is read. Null and empty values are how tables write nothing. */
export function requireKnownKeys(
  fields: Fields,
  { field, known, ignored, called = (key) => key }: KnownKeys,
): void {
  const unknown = Object.keys(fields).find(
    (key) =>
      !known.includes(key) &&
      !ignored.has(key) &&
      !SAYS_NOTHING.has(squeezed(key)) &&
      holdsSomething(fields[key]),
  );
  if (unknown === undefined) return;
  const at = (key: string) => (field === '' ? key : `${field}.${key}`);
  const names = known.map(called);
  const nearest = nearestKey(unknown, names);
  const instead = nearest ? `Did you mean "${at(nearest)}"?` : `Known here: ${names.join(', ')}.`;
  throw new RowProblem(
    `unknown field "${at(unknown.slice(0, MOST_SHOWN))}". ${instead} ` +
      `Remove it, or name it in dataset.ignoreKeys if it says nothing to the model.`,
  );
}

/** What is nested so deep that nobody would come to its end is no empty value either. */
function holdsSomething(value: unknown): boolean {
  return isDeeperThan(value, DEEPEST_JSON) || !isEmpty(value);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && !(value instanceof NotJson) && Object.values(value).every(isEmpty);
}

function squeezed(key: string): string {
  return key.replaceAll(/[_-]/g, '').toLowerCase();
}
