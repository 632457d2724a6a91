import { EndlessTemplate } from './template-error';

/** A text, a list, and integers of more bits than their own bound are refused. */
const LONGEST = 20_000_000;
const MOST_ITEMS = 5_000_000;
/** Of what one rendering makes and reads, in characters: two bytes each at most. */
const MOST_MADE = 400_000_000;
/** Beside its characters or items, so that small values are not free. */
const CHARACTERS_OF_VALUE = 16;
const CHARACTERS_OF_ITEM = 8;
const ITEMS_OF_ENTRY = 4;
/** A part of a text, which is a value and an item. */
const CHARACTERS_OF_PART = CHARACTERS_OF_VALUE + CHARACTERS_OF_ITEM;

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
  requireShort(length);
  count(length + CHARACTERS_OF_VALUE);
}

/** Before a text grows to so many characters. */
export function requireShort(length: number): void {
  if (length > LONGEST) throw tooLong(length);
}

/** Before so many characters are added to a text, whose own length is bounded beside. */
export function makeCharacters(length: number): void {
  count(length);
}

/** Before a list of so many items is made, each of which takes as much as `size` that were there before. */
export function makeItems(length: number, size = 1): void {
  if (length > MOST_ITEMS) throw tooLong(length);
  count(CHARACTERS_OF_VALUE + Math.max(0, length) * CHARACTERS_OF_ITEM * size);
}

/** Before so many entries of a dict are made, or pairs, or lists of few items. */
export function makeEntries(length: number): void {
  makeItems(length, ITEMS_OF_ENTRY);
}

/** Parts of a text as a list. What comes is counted one by one, and no more of them are made than there may be. */
export function collected(parts: Iterable<string>): string[] {
  const list: string[] = [];
  for (const part of parts) {
    if (list.length >= MOST_ITEMS) throw tooLong(list.length + 1);
    count(CHARACTERS_OF_PART);
    list.push(part);
  }
  return list;
}

/** A text that is looked into is laid out in memory as a whole, though it was put together of parts that others have too. */
export function wholeOf<Held>(value: Held): Held {
  if (typeof value === 'string') count(value.length);
  return value;
}

/** A number that was calculated: of large integers there are few. */
export function madeNumber<Calculated extends bigint | number>(value: Calculated): Calculated {
  if (typeof value === 'bigint' && (value > LARGE || value < -LARGE)) count(CHARACTERS_OF_LARGE);
  return value;
}

/** Texts one behind the other. The longest is no copy: a text that grows bit by bit takes as much as its bits. */
export function chained(parts: readonly string[]): string {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  requireShort(length);
  const copied = length - parts.reduce((longest, part) => Math.max(longest, part.length), 0);
  count(copied + CHARACTERS_OF_VALUE);
  return parts.reduce((text, part) => text + part, '');
}

/** Of one that is repeated; a count below zero is none. */
export function repeatedText(text: string, times: number): string {
  const most = Math.max(0, times);
  makeText(text.length * most);
  return text.repeat(most);
}

/** The same text in other letters, which are three times as many at most. */
function recased(text: string, change: (text: string) => string): string {
  makeText(text.length);
  const made = change(text);
  if (made.length > text.length) makeText(made.length);
  return made;
}

export function lowered(text: string): string {
  return recased(text, (whole) => whole.toLowerCase());
}

export function raised(text: string): string {
  return recased(text, (whole) => whole.toUpperCase());
}

function count(characters: number): void {
  leftToMake -= characters;
  if (leftToMake < 0)
    throw new EndlessTemplate(`it makes more than ${MOST_MADE} characters of texts and lists`);
}

function tooLong(length: number): EndlessTemplate {
  return new EndlessTemplate(`a value of ${length} items is too long`);
}
