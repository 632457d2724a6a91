import { repeatedKey } from '../../core/json-flaws';
import { parseExactJson } from './exact-json';

interface FoundJson {
  readonly value: unknown;
  readonly text: string;
}

/** Where an object or list that begins at no parsable place makes us give up, so that "{{{{…" costs little. */
const ATTEMPTS = 20;

/**
 * JSON in a completion: the whole text, else the first fenced block that parses, else the first object or list that parses and is of the kind of what
 * is looked for: in "as shown in [1], it is {…}" an object is not the list.
 */
export function findJson(completion: string, wanted?: unknown): FoundJson | null {
  const whole = parse(completion.trim());
  if (whole) return whole;
  return firstFenced(completion) ?? firstNested(completion, wanted);
}

function firstFenced(completion: string): FoundJson | null {
  let attempts = 0;
  for (const [, content = ''] of completion.matchAll(/```[a-zA-Z]{0,10}\n?([^`]*)```/g)) {
    const found = parse(content.trim());
    if (found || ++attempts === ATTEMPTS) return found;
  }
  return null;
}

function firstNested(completion: string, wanted: unknown): FoundJson | null {
  let start = completion.search(/[[{]/);
  for (let attempt = 0; attempt < ATTEMPTS && start >= 0; attempt++) {
    const end = endOfValue(completion, start);
    const found = end < 0 ? null : parse(completion.slice(start, end));
    if (found && isOfKind(found.value, wanted)) return found;
    const behind = found ? end : start + 1;
    const next = completion.slice(behind).search(/[[{]/);
    start = next < 0 ? -1 : behind + next;
  }
  return null;
}

function isOfKind(value: unknown, wanted: unknown): boolean {
  const isNested = typeof wanted === 'object' && wanted !== null;
  return !isNested || Array.isArray(value) === Array.isArray(wanted);
}

function parse(text: string): FoundJson | null {
  if (text === '') return null;
  try {
    const value = parseExactJson(text);
    return { value: repeatedKey(text, value) === null ? value : CONTRADICTION, text };
  } catch {
    return null;
  }
}

/** Equals nothing: readers differ in what `{"a": 1, "a": 2}` says. */
const CONTRADICTION = Symbol('an object with a key twice');
/** Behind the bracket that closes the one at `start`; brackets in strings do not count. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index] ?? '';
    if (isInString) {
      if (character === '\\') index++;
      else isInString = character !== '"';
    } else if (character === '"') isInString = true;
    else depth += depthChange(character);
    if (depth === 0) return index + 1;
  }
  return -1;
}

function depthChange(character: string): number {
  if (character === '{' || character === '[') return 1;
  return character === '}' || character === ']' ? -1 : 0;
}
