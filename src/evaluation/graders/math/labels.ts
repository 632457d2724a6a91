/** What takes an answer back, or says that it is another one. */
const NEGATION =
  /\b(?:not|never|no(?!\.)|nor|neither|without|wrong(?:ly)?|incorrect(?:ly)?|false|untrue|invalid|except|excluding|unless|instead|rejected|discarded|opposite)\b|n['’]t\b|\bother\s+than\b/i;
const COMPARISON =
  /\b(?:less|more|fewer|greater|larger|bigger|smaller|higher|lower)(?:\s+than\b|\s*$)|\bat\s+(?:most|least)\b|\bup\s+to\b/i;
/** What is done with the number behind it: "twice the answer", "square root of". */
const OPERATION =
  /^\s*(?:the\s+|its\s+)?(?:(?:twice|thrice|double|triple|half|halve|(?:a|one)\s+(?:half|third|quarter)|negative|minus|plus)(?![\w-])|(?:square|squared|cube|cubed|root|inverse|reciprocal|multiple|log|logarithm)(?:\s+of\b|\s*(?:is|are|equals)?\s*$))|\b(?:square|cube|cubic)\s+root\b|\btimes\b/i;
const PREPOSITION_BEHIND =
  /\b(?:of|than|to|by|from|for|over|under|above|below|beyond|between|minus|plus|about|around|near|mod|modulo|and|or)\s*$/i;

/** Whether words name what stands behind them: "Area" and "The answer" do, "not", "less than" and "square root of" make it something else. */
export function isLabel(words: string): boolean {
  return ![NEGATION, COMPARISON, OPERATION, PREPOSITION_BEHIND].some((pattern) => pattern.test(words));
}
