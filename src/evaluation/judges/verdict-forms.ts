/** Marks of zero width, which a reader passes over and a comparison of texts does not. */
export const ZERO_WIDTH = '\\u200B-\\u200D\\u2060\\uFEFF\\u00AD';

/** Between the letters of a marker. */
export const GAP = `[${ZERO_WIDTH}]*`;

const SCORE_TAG = 'score';
/** The emphasis judges put around the word and the letter, and the `$` of the instructions taken literally. */
const ORNAMENT = `[\\s${ZERO_WIDTH}*_\`$]*`;
/** Also what they put the letter or the number in. */
const BRACKETS = `[\\s${ZERO_WIDTH}*_\`$"'“‘(<[]*`;
const BEFORE_GRADE = `(?<![\\p{L}\\p{N}])GRADE(?![\\p{L}\\p{N}])${ORNAMENT}:${BRACKETS}`;
const BEFORE_RATING = `(?<![\\p{L}\\p{N}])rating${ORNAMENT}:${BRACKETS}`;

/**
 * How verdicts are written; the group is what goes before the verdict itself. What a form matches is broken in texts shown to a
 * judge, and what a reader takes for a verdict is matched by its form.
 */
export const VERDICT_FORMS = {
  // The letter may begin another one.
  grade: [`(${BEFORE_GRADE})(?=\\p{L})`],
  rating: ['(\\[\\[\\s*)\\d+(?:\\.\\d+)?\\s*\\]\\]', `(${BEFORE_RATING})(?=\\d)`],
  // Any tag of that name, whatever is in it: a reader takes no verdict without one.
  score: [`(<[\\s${ZERO_WIDTH}/]*)${Array.from(SCORE_TAG).join(GAP)}(?=[\\s${ZERO_WIDTH}/>])`],
  pair: ['(\\[\\[)[ABC]\\]\\]'],
  arena: ['(\\[\\[)[AB<>=]+\\]\\]', '(\\[)[AB][<>=]+[AB]\\]'],
} as const;

export type VerdictForm = keyof typeof VERDICT_FORMS;

/** What readers look for; the group is the verdict. */
export const READ_FORMS = {
  grade: `${BEFORE_GRADE}(?=(\\p{L}))`,
  // With what would make another number of it behind.
  rating: `${BEFORE_RATING}(\\d+(?:\\.\\d+)?)([ \\t]*(?:[-–—~]|or\\b|to\\b)[ \\t]*\\d|\\+|[,.]?\\d|[eE][-+]?\\d|[ \\t]*\\p{No})?`,
  bracketRating:
    '\\[\\[\\s*(\\d+(?:\\.\\d+)?)\\s*\\]\\](\\.\\d|[ \\t]{0,4}(?:[-–—~/]|or\\b|to\\b)[ \\t]{0,4}\\[\\[\\s*\\d)?',
  pair: '\\[\\[([ABC])\\]\\]',
  // A tag that holds no other.
  score: `<${SCORE_TAG}>([^<]*)</${SCORE_TAG}>`,
} as const;

export function verdictPattern(source: string): RegExp {
  return new RegExp(source, 'giu');
}
