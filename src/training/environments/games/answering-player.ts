import type { Completer } from '../../../core/completion';
import { messageText } from '../../../evaluation/runner/message-text';
import type { Thing, Trait } from './things';
import { THINGS, TRAIT_WORDS } from './things';

export type PlayerAnswer = 'Yes.' | 'No.' | 'I cannot say.';

/** The other player of twenty questions: thinks of a thing and answers. Guesses are judged by the game. */
export type AnsweringPlayer = (
  turn: { readonly secret: Thing; readonly question: string },
  signal: AbortSignal,
) => PlayerAnswer | Promise<PlayerAnswer>;

const NEGATION = /\b(?:not|isn't|doesn't|can't|never)\b/;

/**
 * Answers by what is known of its things: needs no second model and answers the same every time. A question that names
 * several traits asks for all of them, with "or" for any.
 */
export function answerFromKnowledge({
  secret,
  question,
}: {
  readonly secret: Thing;
  readonly question: string;
}): PlayerAnswer {
  const asked = question.toLowerCase();
  const traits = traitsIn(wordsOf(asked));
  if (traits.length === 0 || NEGATION.test(asked)) return 'I cannot say.';
  const holds = (trait: Trait) => secret.traits.includes(trait);
  const isTrue = / or /.test(asked) ? traits.some(holds) : traits.every(holds);
  return isTrue ? 'Yes.' : 'No.';
}

/** The thing that a question guesses, e.g. "Is it a dog?"; null where it names none. */
export function guessIn(question: string): string | null {
  const words = wordsOf(question.toLowerCase());
  const named = THINGS.filter(({ name }) => words.includes(name) || words.includes(`${name}s`));
  return named.length === 1 ? (named[0]?.name ?? null) : null;
}

/** A second model as the other player. */
export function createModelPlayer(completer: Completer): AnsweringPlayer {
  return async ({ secret, question }, signal) => {
    const instruction =
      `You think of "${secret.name}" in a game of twenty questions. ` +
      'Answer the question about it with one word: Yes, No, or Unknown.';
    const messages = [
      { role: 'system', content: instruction },
      { role: 'user', content: question },
    ];
    const params = { maxTokens: 512, temperature: 0, topP: 1 };
    const { message } = await completer.complete({ messages, params }, { signal });
    const verdict = messageText(message).trim().toLowerCase();
    if (verdict.startsWith('yes')) return 'Yes.';
    return verdict.startsWith('no') ? 'No.' : 'I cannot say.';
  };
}

function traitsIn(words: readonly string[]): Trait[] {
  return traitEntries().flatMap(([trait, itsWords]) =>
    itsWords.some((word) => words.includes(word)) ? [trait] : [],
  );
}

function traitEntries(): readonly (readonly [Trait, readonly string[]])[] {
  return Object.entries(TRAIT_WORDS).flatMap(([name, words]) =>
    isTrait(name) ? [[name, words] as const] : [],
  );
}

function isTrait(name: string): name is Trait {
  return Object.hasOwn(TRAIT_WORDS, name);
}

function wordsOf(text: string): string[] {
  return text.match(/[a-z-]+/g) ?? [];
}
