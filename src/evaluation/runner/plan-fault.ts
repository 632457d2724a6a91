import { MOST_SAMPLES } from '../../core/benchmark-run';
import { fieldsOf } from '../../core/controls';
import { DEEPEST_JSON, isDeeperThan } from '../../core/json-depth';
import { isRecord } from '../../stores/json-lines';

/*
 * Whether what lies in a `plan.json` is a plan: somebody may have copied, edited or damaged it, and its numbers bound loops. One of
 * an earlier version may say less.
 */

interface Form {
  readonly fits: (value: unknown) => boolean;
  /** What it has to be. */
  readonly words: string;
}

type Forms = Readonly<Record<string, Form>>;

const COUNT = wholeNumber(0, Number.MAX_SAFE_INTEGER - 1);
const AT_LEAST_ONE = wholeNumber(1, Number.MAX_SAFE_INTEGER);
const SAMPLES = wholeNumber(1, MOST_SAMPLES);
const SECONDS: Form = { fits: isNotNegative, words: 'a number from 0 on' };
const TEXT: Form = { fits: (value) => typeof value === 'string', words: 'a text' };
const OBJECT: Form = { fits: isRecord, words: 'an object' };
const OBJECTS: Form = { fits: areRecords, words: 'a list of objects' };

const PLAN: Forms = {
  ...{ shards: OBJECTS, request: OBJECT, identity: OBJECT, generation: OBJECT, regraded: OBJECTS },
  ...{ numSamples: SAMPLES, exampleCount: COUNT, starts: COUNT },
  ...{ timeoutSeconds: SECONDS, secondsBefore: SECONDS, base: TEXT, source: TEXT, examplesFile: TEXT },
};
const REQUEST: Forms = {
  ...{ numSamples: SAMPLES, maxExamples: AT_LEAST_ONE },
  ...{ concurrency: AT_LEAST_ONE, agentConcurrency: AT_LEAST_ONE },
};
const PART: Forms = { exampleCount: COUNT, offset: COUNT, bytes: COUNT };
/** Without these nothing can be gone on with. */
const NEEDED = ['request', 'identity', 'numSamples', 'exampleCount', 'shards', 'base'];

/** What is wrong with a plan, with its field; null where nothing is. */
export function planFault(plan: object): string | null {
  if (isDeeperThan(plan, DEEPEST_JSON)) return `it nests more than ${DEEPEST_JSON} deep`;
  const { request = {}, shards = [] } = fieldsOf(plan);
  return faultIn(plan, PLAN, '') ?? faultIn(request, REQUEST, 'request.') ?? shardsFault(shards);
}

/** The same of a plan whose answers are used: it is all there. */
export function wholePlanFault(plan: object): string | null {
  const missing = NEEDED.find((name) => !Object.hasOwn(plan, name));
  if (missing !== undefined) return `"${missing}" is missing`;
  return planFault(plan) ?? missingInShards(fieldsOf(plan)['shards']);
}

function faultIn(value: unknown, forms: Forms, where: string): string | null {
  const fields = fieldsOf(value);
  for (const [name, { fits, words }] of Object.entries(forms)) {
    if (fields[name] !== undefined && !fits(fields[name])) return `"${where}${name}" has to be ${words}`;
  }
  return null;
}

/** Each begins where the one before ends: else a small file of examples would be read once a shard. */
function shardsFault(shards: unknown): string | null {
  let end = 0;
  for (const [index, part] of listOf(shards).entries()) {
    const where = `shards[${index}].`;
    const fault = faultIn(part, PART, where);
    if (fault !== null) return fault;
    const { offset = end, bytes = 0 } = fieldsOf(part);
    if (offset !== end) return `"${where}offset" has to be ${end}, where the shard before it ends`;
    end += Number(bytes);
  }
  return null;
}

function missingInShards(shards: unknown): string | null {
  const list = listOf(shards);
  for (const [index, part] of list.entries()) {
    const missing = Object.keys(PART).find((name) => fieldsOf(part)[name] === undefined);
    if (missing !== undefined) return `"shards[${index}].${missing}" is missing`;
    // A task of its own kind has one shard, and no file of examples.
    if (list.length > 1 && fieldsOf(part)['bytes'] === 0) return `"shards[${index}].bytes" has to be above 0`;
  }
  return null;
}

function wholeNumber(least: number, most: number): Form {
  const fits = (value: unknown) =>
    isNotNegative(value) && Number.isInteger(value) && value >= least && value <= most;
  const upTo = most < Number.MAX_SAFE_INTEGER - 1 ? `from ${least} to ${most}` : `from ${least} on`;
  return { fits, words: `a whole number ${upTo}` };
}

function isNotNegative(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function areRecords(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => isRecord(each));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
