import { DomainError } from '../../../core/errors';
import { listInText } from '../row-fields';
import type { Row } from '../row-grader';

const ASSERTION = /^assert\b/gm;
/** As statements they do nothing, so that every program passes. */
const BARE_LITERAL = /^\s*(?:\[[^]*\]|'[^]*'|"[^]*")\s*$/;

/**
 * The assertions of a field: a list of texts, the JSON text of one as tables keep lists, or one assertion. Any other text is refused:
 * Python may take it for a value, which tests nothing.
 */
export function assertionsIn(row: Row, field: string): readonly string[] {
  const texts = codeTexts(row, field);
  if (texts.some((text) => BARE_LITERAL.test(text)) || !isListed(row[field], texts)) {
    throw refused(field, 'is no list of assertions, nor one assertion. Write JSON: ["assert f(1) == 2"].');
  }
  return texts;
}

function isListed(value: unknown, texts: readonly string[]): boolean {
  const [only = ''] = texts;
  if (typeof value !== 'string' || only !== value || only.trim() === '') return true;
  return only.trim().startsWith('assert') && only.trim().match(ASSERTION)?.length === 1;
}

/** Code of a field: a text, a list of texts or the JSON text of one; none where the row lacks it. */
export function codeTexts(row: Row, field: string): readonly string[] {
  const value = row[field];
  if (value === undefined || value === null) return [];
  const read = typeof value === 'string' ? (listInText(value, field) ?? [value]) : value;
  if (Array.isArray(read) && read.every((item) => typeof item === 'string')) return read;
  throw refused(field, 'is no list of texts. Write JSON: a list of texts of code.');
}

function refused(field: string, problem: string): DomainError {
  return new DomainError('bad-dataset', `example: field "${field}": ${problem}`);
}
