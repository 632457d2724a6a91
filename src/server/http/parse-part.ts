import { z } from 'zod';
import { nearestKey } from '../../core/nearest-key';
import { RequestError } from './request-error';

interface PartOptions {
  readonly part: 'path' | 'query' | 'body';
  /** Default 400. */
  readonly status?: number;
}

/** zod's words for a value that none of several forms fits. */
const UNEXPLAINED = 'Invalid input';

/** Refuses what does not fit, naming the place that is wrong. */
export function parsePart<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { part, status = 400 }: PartOptions,
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (!issue) throw new RequestError(status, { message: `The ${part} is not valid.` });
  const place = issue.path.map(String).join('.');
  const unknownKeys = issue.code === 'unrecognized_keys' ? issue.keys : [];
  const param = place || unknownKeys[0] || null;
  const where = place === '' ? `The ${part}` : `${place} (${part})`;
  throw new RequestError(status, {
    message: `${where}: ${wordsOf(issue, value).slice(0, 500)}.${place === '' ? known(schema, unknownKeys, part) : ''}`,
    param,
    ...(unknownKeys.length > 0 && { code: 'unknown_parameter' }),
  });
}

/** Of texts that are read as numbers, the one that is none is told as it was sent: zod sees what became of it. */
function wordsOf(issue: z.core.$ZodIssue, value: unknown): string {
  const [key] = issue.path;
  if (issue.code !== 'invalid_type' || !issue.message.endsWith('received NaN')) return reasonOf(issue);
  const fields: Readonly<Record<string, unknown>> = typeof value === 'object' ? { ...value } : {};
  return `expected a number, got ${JSON.stringify(fields[String(key)])}`;
}

/** What could have been meant by a name that is not known: a query has few, so that all of them are told. */
function known(schema: z.ZodType, [unknown]: readonly string[], part: PartOptions['part']): string {
  if (unknown === undefined || !(schema instanceof z.ZodObject)) return '';
  const names = Object.keys(schema.shape);
  if (part === 'query') return ` Known: ${names.join(', ') || 'nothing'}.`;
  const nearest = nearestKey(unknown, names);
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`;
}

/** Of several forms that are taken, what is wrong with the one that was meant. */
function reasonOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_union' || issue.message !== UNEXPLAINED) return issue.message;
  const forms = issue.errors.flatMap(([first]) => first ?? []);
  const meant = forms.find(({ code, path }) => path.length > 0 || code !== 'invalid_type');
  if (!meant) return [...new Set(forms.map(({ message }) => message))].join('; ') || issue.message;
  const place = meant.path.map(String).join('.');
  return `${place === '' ? '' : `${place}: `}${reasonOf(meant)}`;
}
