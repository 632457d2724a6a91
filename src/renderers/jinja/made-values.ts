import { EndlessTemplate, isList } from './values';
import type { Value } from './values';

/** A text, a list, and integers of more bits than their own bound are refused. */
const LONGEST = 20_000_000;
const MOST_ITEMS = 5_000_000;
/** Of what one rendering makes and reads, in characters: two bytes each at most. An item of a list takes as much as four to eight. */
const MOST_MADE = 400_000_000;
const CHARACTERS_OF_ITEM = 8;
/** What is smaller is bounded by the time that it takes to make so many. */
const SMALL = 1000;

/** A smaller integer takes no more than the item that it is. */
const LARGE = 2n ** 16_384n;
/** Of a million bits, which it has at most: how many it has takes long to find. */
const CHARACTERS_OF_LARGE = 62_500;

let leftToMake = MOST_MADE;

/** What `render` makes is counted for itself: nothing else is rendered meanwhile. */
export function countingMade<Result>(render: () => Result): Result {
  const before = leftToMake;
  leftToMake = MOST_MADE;
  try {
    return render();
  } finally {
    leftToMake = before;
  }
}

/** Before a text of so many characters is made. */
export function makeText(length: number): void {
  if (length > LONGEST) throw tooLong(length);
  count(length);
}

/** Before a list of so many items is made. */
export function makeItems(length: number): void {
  if (length > MOST_ITEMS) throw tooLong(length);
  count(length * CHARACTERS_OF_ITEM);
}

/** A text that is looked into is laid out in memory as a whole, though it was put together of parts that others have too. */
export function wholeOf(value: Value): Value {
  if (typeof value === 'string') count(value.length);
  return value;
}

/** What a filter or function gives of a value. */
export function madeOf(value: Value, made: Value): Value {
  if (made === value) return made;
  if (typeof made === 'string') makeText(made.length);
  if (isList(made)) makeItems(made.length);
  if (typeof made === 'bigint' && (made > LARGE || made < -LARGE)) count(CHARACTERS_OF_LARGE);
  return made;
}

/** Texts one behind the other. The longest is no copy: a text that grows bit by bit takes as much as its bits. */
export function chained(parts: readonly string[]): string {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length > LONGEST) throw tooLong(length);
  count(length - parts.reduce((longest, part) => Math.max(longest, part.length), 0));
  return parts.reduce((text, part) => text + part, '');
}

/** Texts as one. */
export function joinedTexts(parts: readonly string[], between = ''): string {
  const gaps = Math.max(0, parts.length - 1) * between.length;
  makeText(parts.reduce((sum, part) => sum + part.length, gaps));
  return parts.join(between);
}

/** Of one that is repeated; a count below zero is none. */
export function repeatedText(text: string, count: number): string {
  const times = Math.max(0, count);
  makeText(text.length * times);
  return text.repeat(times);
}

function count(characters: number): void {
  if (characters < SMALL) return;
  leftToMake -= characters;
  if (leftToMake < 0)
    throw new EndlessTemplate(`it makes more than ${MOST_MADE} characters of texts and lists`);
}

function tooLong(length: number): EndlessTemplate {
  return new EndlessTemplate(`a value of ${length} items is too long`);
}
