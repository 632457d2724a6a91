import type { ContentPart, Message } from '../core/conversation';
import { partsOf } from '../renderers/message-text';
import { splitReply } from '../renderers/written-words';

interface Piece {
  /** Which message says it. */
  readonly message: number;
  readonly isReasoning: boolean;
  readonly words: string;
  /** Some renderers write the reasoning of several parts as one text. */
  readonly joins: { readonly before: boolean; readonly after: boolean };
}

/**
 * How many replies have reasoning that is not in the text of their conversation: templates drop it from history. What is written
 * stands after the words before it with nothing but the template's own between; the same reasoning of a later reply is another.
 */
export function countRepliesWithoutReasoning(messages: readonly Message[], text: string): number {
  const stretches = stretchesOf(messages);
  const lacking = new Set<number>();
  let from = 0;
  for (const [index, pieces] of stretches.entries()) {
    let end = from;
    for (const piece of pieces) {
      const at = indexOfWords(text, piece, from);
      const following = () => stretches.slice(index + 1).flat();
      if (piece.isReasoning && (at < 0 || hasFollowing(text.slice(from, at), following()))) {
        lacking.add(piece.message);
      } else if (at >= 0) {
        end = Math.max(end, at + piece.words.length);
      }
    }
    from = end;
  }
  return lacking.size;
}

/** One piece after another, but for the answers to calls: some renderers write those in the order of the calls. */
function stretchesOf(messages: readonly Message[]): (readonly Piece[])[] {
  const stretches: Piece[][] = [];
  let answers: Piece[] | null = null;
  for (const [index, message] of messages.entries()) {
    const pieces = piecesOf(message, index);
    if (message.role !== 'tool') {
      stretches.push(...pieces.map((piece) => [piece]));
      answers = null;
    } else if (answers) {
      answers.push(...pieces);
    } else {
      stretches.push((answers = pieces));
    }
  }
  return stretches;
}

/** Whether what follows stands there already, so that the reasoning found behind it is that of a later reply. */
function hasFollowing(between: string, following: readonly Piece[]): boolean {
  const next = following.find(({ isReasoning }) => !isReasoning);
  return next !== undefined && indexOfWords(between, next, 0) >= 0;
}

function piecesOf(message: Message, index: number): Piece[] {
  const parts = message.role === 'assistant' ? splitReply(message) : partsOf(message);
  const isReasoning = (part: ContentPart | undefined) => part?.type === 'thinking';
  const said = parts.filter((part) => wordsOf(part).trim() !== '');
  return said.map((part, at) => ({
    message: index,
    isReasoning: isReasoning(part),
    words: wordsOf(part).trim(),
    joins: {
      before: isReasoning(part) && isReasoning(said[at - 1]),
      after: isReasoning(part) && isReasoning(said[at + 1]),
    },
  }));
}

function wordsOf(part: ContentPart): string {
  return part.type === 'thinking' ? part.thinking : part.text;
}

const LETTER = /[\p{L}\p{N}]/u;

/** Where the words stand by themselves, and not within longer ones. */
function indexOfWords(text: string, { words, joins }: Pick<Piece, 'words' | 'joins'>, from: number): number {
  for (let at = text.indexOf(words, from); at >= 0; at = text.indexOf(words, at + 1)) {
    const isFree = {
      before: joins.before || !isJoined(text, at),
      after: joins.after || !isJoined(text, at + words.length),
    };
    if (isFree.before && isFree.after) return at;
  }
  return -1;
}

function isJoined(text: string, at: number): boolean {
  return LETTER.test(text[at - 1] ?? '') && LETTER.test(text[at] ?? '');
}
