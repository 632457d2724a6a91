import { removePrefix, removeSuffix, SPACE, strip, stripEnd, stripStart } from '../python-text';
import type { Check } from './check';
import { matchCount, phraseBefore } from './phrases';

const CONSTRAINED_RESPONSES = ['My answer is yes.', 'My answer is no.', 'My answer is maybe.'];

export const FORMAT_CHECKS = {
  'detectable_format:number_bullet_lists': (response, instruction) =>
    countStarBullets(response) + countDashBullets(response) === instruction.count('num_bullets'),

  'detectable_format:constrained_response': (response) =>
    CONSTRAINED_RESPONSES.some((option) => response.includes(option)),

  'detectable_format:number_highlighted_sections': (response, instruction) =>
    countHighlights(response) >= instruction.count('num_highlights'),

  'detectable_format:multiple_sections': async (response, instruction, time) => {
    const heading = phraseBefore(strip(instruction.text('section_spliter')), String.raw`[${SPACE}]?\p{Nd}+`);
    return (await matchCount(response, heading, time)) >= instruction.count('num_sections');
  },

  'detectable_format:title': (response) => response.split('\n').some(hasTitle),

  'detectable_format:json_format': (response) => isPythonJson(unfenced(response)),
} satisfies Record<string, Check>;

/**
 * Lines of white space and a star, then anything but a star. A star at the end of its line takes the next line with it, as
 * in the official pattern `^\s*\*[^\*].*$`, where the newline is the character that is no star.
 */
function countStarBullets(response: string): number {
  const lines = response.split('\n');
  let count = 0;
  for (let index = 0; index < lines.length; index++) {
    const line = stripStart(lines[index] ?? '');
    if (!line.startsWith('*')) continue;
    const isBareStar = line.length === 1;
    if (isBareStar ? index === lines.length - 1 : line[1] === '*') continue;
    count++;
    if (isBareStar) index++;
  }
  return count;
}

function countDashBullets(response: string): number {
  return response.split('\n').filter((line) => stripStart(line).startsWith('-')).length;
}

function countHighlights(response: string): number {
  const single = filled(response, /\*[^\n*]*\*/g);
  const double = filled(response, /\*\*[^\n*]*\*\*/g);
  return single + double;
}

function filled(response: string, pattern: RegExp): number {
  let count = 0;
  for (const [highlight] of response.matchAll(pattern)) {
    if (strip(highlight.replaceAll('*', '')) !== '') count++;
  }
  return count;
}

/** `<<…>>`, from the first `<<` of a line to its last `>>`, with something in between. */
function hasTitle(line: string): boolean {
  const open = line.indexOf('<<');
  const close = line.lastIndexOf('>>');
  if (open < 0 || close < open + 3) return false;
  const title = stripStart(line.slice(open, close + 2), '<');
  return strip(stripEnd(title, '>')) !== '';
}

function unfenced(response: string): string {
  const opened = ['```json', '```Json', '```JSON', '```'].reduce(removePrefix, strip(response));
  return strip(removeSuffix(opened, '```'));
}

/** What Python's `json.loads` accepts: JSON, and the numbers NaN, Infinity and -Infinity. */
function isPythonJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/(?<![\w.-])(?:-?Infinity|NaN)(?!\w)/g, '0'));
    return true;
  } catch {
    return false;
  }
}
