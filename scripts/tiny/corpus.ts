import { createRandom } from '../../src/core/random';
import { LARGEST_NUMBER, heldOut } from './held-out';

/**
 * The synthetic corpus `everstep/tiny` is trained on: short conversations about letters, numbers and a few facts.
 *
 * Sums are asked in words only, for part of the pairs, and never for a held-out pair, not even turned round as a
 * difference. "+" and "=" occur, but not between numbers.
 */

export interface Exchange {
  readonly user: string;
  readonly assistant: string;
}

export interface CorpusConversation {
  readonly system: string | null;
  readonly exchanges: readonly Exchange[];
}

const WORDS =
  'apple river stone cloud table green happy music water light house paper tiger ocean bread chair plant sugar night storm banana kitten lemon winter garden window summer coffee pencil letter yellow purple orange silver planet'.split(
    ' ',
  );

const FACTS: readonly (readonly [string, string])[] = [
  ['Hello!', 'Hello! How can I help?'],
  ['Hi', 'Hello! How can I help?'],
  ['How are you?', 'I am fine, thank you.'],
  ['Who are you?', 'I am a tiny language model.'],
  ['What is your name?', 'My name is Tiny.'],
  ['Thank you!', 'You are welcome.'],
  ['Good night.', 'Good night!'],
  ['What color is the sky?', 'Blue.'],
  ['What color is grass?', 'Green.'],
  ['What color is a banana?', 'Yellow.'],
  ['What is the capital of France?', 'Paris.'],
  ['What is the capital of Italy?', 'Rome.'],
  ['What is the capital of Japan?', 'Tokyo.'],
  ['What is the capital of Spain?', 'Madrid.'],
  ['What does a cow say?', 'Moo.'],
  ['What does a cat say?', 'Meow.'],
  ['What does a dog say?', 'Woof.'],
  ['How many days are in a week?', '7'],
  ['How many months are in a year?', '12'],
  ['What day comes after Monday?', 'Tuesday.'],
  ['What day comes after Friday?', 'Saturday.'],
  ['What is the opposite of hot?', 'Cold.'],
  ['What is the opposite of big?', 'Small.'],
  ['What is the opposite of up?', 'Down.'],
];

const SYSTEM_PROMPTS = ['You are a helpful assistant.', 'Answer briefly.', 'You are Tiny.'];

type Random = () => number;
type Task = (random: Random) => Exchange;

function below(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[below(random, items.length)];
  if (item === undefined) throw new Error('Nothing to pick from');
  return item;
}

function characters(random: Random, alphabet: string, longest: number): string {
  return Array.from({ length: 1 + below(random, longest) }, () => pick(random, Array.from(alphabet))).join(
    '',
  );
}

/** A word, letters, digits, or letters with signs: never signs between numbers. */
function someText(random: Random): string {
  const kind = below(random, 4);
  if (kind === 0) return pick(random, WORDS);
  if (kind === 1) return characters(random, '0123456789', 8);
  if (kind === 2) return characters(random, 'abcdefghijklmnopqrstuvwxyz+=-*/?!.,', 8);
  return characters(random, 'abcdefghijklmnopqrstuvwxyz', 10);
}

/** A pair that may be shown: not held out, and among the part the corpus uses. */
function shownPair(random: Random): [number, number] {
  for (;;) {
    const a = below(random, LARGEST_NUMBER + 1);
    const b = below(random, LARGEST_NUMBER + 1);
    if (!heldOut(a, b) && (a * 7 + b * 3) % 10 < 8) return [a, b];
  }
}

const addition: Task = (random) => {
  const [a, b] = shownPair(random);
  const user = pick(random, [
    `What is ${a} plus ${b}?`,
    `Add ${a} and ${b}.`,
    `${a} plus ${b}`,
    `What is the sum of ${a} and ${b}?`,
    `Please add ${b} to ${a}.`,
  ]);
  return { user, assistant: String(a + b) };
};

const subtraction: Task = (random) => {
  const [a, b] = shownPair(random);
  return {
    user: pick(random, [`What is ${a + b} minus ${a}?`, `${a + b} minus ${a}`]),
    assistant: String(b),
  };
};

const copying: Task = (random) => {
  const text = someText(random);
  return { user: `${pick(random, ['Repeat', 'Copy', 'Say'])}: ${text}`, assistant: text };
};

const reversing: Task = (random) => {
  const text = someText(random);
  return { user: `Reverse: ${text}`, assistant: Array.from(text).reverse().join('') };
};

const counting: Task = (random) => {
  const text = characters(random, 'abcd', 9);
  const letter = pick(random, ['a', 'b', 'c', 'd']);
  const count = Array.from(text).filter((character) => character === letter).length;
  return random() < 0.5
    ? { user: `Count ${letter} in ${text}`, assistant: String(count) }
    : { user: `How long is ${text}?`, assistant: String(text.length) };
};

const comparing: Task = (random) => {
  const a = below(random, 100);
  const b = below(random, 100);
  return random() < 0.5
    ? { user: `Which is larger, ${a} or ${b}?`, assistant: String(Math.max(a, b)) }
    : { user: `Which is smaller, ${a} or ${b}?`, assistant: String(Math.min(a, b)) };
};

const ordering: Task = (random) => {
  const number = below(random, 200);
  const parity = number % 2 === 0 ? 'even' : 'odd';
  return pick(random, [
    { user: `What comes after ${number}?`, assistant: String(number + 1) },
    { user: `What comes before ${number + 1}?`, assistant: String(number) },
    { user: `Is ${number} even or odd?`, assistant: parity },
  ]);
};

const spelling: Task = (random) => {
  const word = pick(random, WORDS);
  return pick(random, [
    { user: `First letter of ${word}?`, assistant: word.slice(0, 1) },
    { user: `Last letter of ${word}?`, assistant: word.slice(-1) },
    { user: `Uppercase: ${word}`, assistant: word.toUpperCase() },
    { user: `Spell ${word}`, assistant: Array.from(word).join(' ') },
  ]);
};

const chatting: Task = (random) => {
  const [user, assistant] = pick(random, FACTS);
  return { user, assistant };
};

const TASKS: readonly (readonly [share: number, task: Task])[] = [
  [0.45, addition],
  [0.08, subtraction],
  [0.1, copying],
  [0.08, reversing],
  [0.06, counting],
  [0.06, comparing],
  [0.05, ordering],
  [0.05, spelling],
  [0.07, chatting],
];

function makeExchange(random: Random): Exchange {
  let left = random();
  for (const [share, task] of TASKS) {
    left -= share;
    if (left < 0) return task(random);
  }
  return chatting(random);
}

/** An endless stream of conversations, decided by the seed. */
export function* makeCorpus(seed: number): Generator<CorpusConversation, never> {
  const random = createRandom(seed);
  for (;;) {
    const count = random() < 0.7 ? 1 : 2 + below(random, 2);
    const exchanges = Array.from({ length: count }, () => makeExchange(random));
    yield { system: random() < 0.15 ? pick(random, SYSTEM_PROMPTS) : null, exchanges };
  }
}
