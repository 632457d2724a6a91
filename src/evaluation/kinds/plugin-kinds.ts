import { z } from 'zod';
import { DomainError } from '../../core/errors';
import type { KindBuilder } from '.';
import { ownRows } from '../benchmarks/own-rows';
import type { Kind } from './kind';

const KindShape = z.looseObject({
  kind: z.enum(['generation', 'teacherForced', 'perplexity', 'choiceByPerplexity']),
  metric: z.string(),
  version: z.number(),
  prepare: z.custom((value) => typeof value === 'function'),
  reduce: z.custom((value) => typeof value === 'function'),
});

interface KindOrigin {
  readonly file: string;
  /** Of the file and of what it imports. */
  readonly hash: string;
}

/** Tasks of a plug-in file: each is one, or a function of the config's options that makes one. */
export function kindsOf(
  entries: readonly (readonly [string, unknown])[],
  origin: KindOrigin,
): Map<string, KindBuilder> {
  return new Map(
    entries.map(([name, given]) => {
      if (typeof given !== 'function') return [name, () => complete(name, given, origin)];
      return [name, (options) => complete(name, Reflect.apply(given, undefined, [options]), origin)];
    }),
  );
}

/** The name it is registered under is the one its results have. */
function complete(name: string, given: unknown, { file, hash }: KindOrigin): Kind {
  if (isKind(given))
    return { ...given, name, data: dataOf(given.data, `plugins: ${file}: task "${name}"`), codeHash: hash };
  throw new DomainError(
    'bad-plugin',
    `plugins: ${file} has a task "${name}" that is none. Make it with generation, teacherForced, perplexity or choiceByPerplexity.`,
  );
}

function dataOf(data: Kind['data'], where: string): Kind['data'] {
  return 'rows' in data ? { ...data, rows: () => ownRows(where, () => data.rows()) } : data;
}

function isKind(given: unknown): given is Kind {
  return KindShape.safeParse(given).success;
}
