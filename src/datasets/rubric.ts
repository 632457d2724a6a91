import { listIn } from './json-fields';
import { kindOf } from './kind-of';
import { RowProblem } from './row-problem';

/** The items that a judge scores one by one: a list of texts, or JSON text of one. */
export function readRubric(value: unknown): readonly string[] {
  if (value === undefined || value === null || value === '') {
    throw new RowProblem(
      `field "rubric" is missing: a judge of method rubric scores its items. Give the row a list of texts, or "rubric" beside "method" for all rows.`,
    );
  }
  const list = listIn(value, 'rubric');
  if (!Array.isArray(list)) {
    throw new RowProblem(`field "rubric": expected a list of texts, got ${kindOf(list)}.`);
  }
  if (list.length === 0)
    throw new RowProblem(`field "rubric": the list is empty. Give it at least one text.`);
  return list.map((item: unknown, index) => {
    if (typeof item === 'string' && item.trim() !== '') return item;
    const got = typeof item === 'string' ? 'empty text' : kindOf(item);
    throw new RowProblem(`field "rubric[${index}]": expected text, got ${got}.`);
  });
}
