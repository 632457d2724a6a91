/** As long as anybody's, and short enough for a column. */
const LONGEST = 200;
/** Control characters, halves of surrogate pairs, and what ends a line. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Why a tag, a stop reason or the name of a metric cannot be a part of metrics' keys; null where it can. */
export function problemOfName(name: string): string | null {
  const shown = JSON.stringify(name.slice(0, 40));
  if (name === '') return 'a name is empty';
  if (name.length > LONGEST) return `the name ${shown}… is longer than ${LONGEST} characters`;
  if (UNPRINTABLE.test(name)) return `the name ${shown} has line breaks or characters that cannot be shown`;
  // Objects of JavaScript cannot have it as a key of their own everywhere.
  return name === '__proto__' ? `the name ${shown} is taken by JavaScript` : null;
}

/** Of one answer or one evaluation: what is told of single examples belongs into logs, of which there is no score. */
export const MOST_METRICS = 1000;

/** The same of all names of metrics that are given at once, and of how many there are. */
export function problemOfNames(names: readonly string[]): string | null {
  if (names.length > MOST_METRICS)
    return `${names.length} metrics are more than ${MOST_METRICS}; what is told of single examples belongs into logs`;
  return names.map(problemOfName).find((problem) => problem !== null) ?? null;
}

/** Types say that tags are a list of names; what a plug-in or a Python worker gives may be anything. */
export function problemOfTags(tags: unknown): string | null {
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === 'string')) return 'must be a list of names';
  if (tags.length > MOST_TAGS) return `${tags.length} tags are more than ${MOST_TAGS}`;
  return tags.map(problemOfTag).find((problem) => problem !== null) ?? null;
}

/** Of one problem: each has metrics of its own. */
const MOST_TAGS = 100;

function problemOfTag(tag: string): string | null {
  return tag === 'all' ? 'the tag "all" is that of all problems' : problemOfName(tag);
}
