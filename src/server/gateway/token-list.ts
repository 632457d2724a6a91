import { z } from 'zod';

const Token = z.int().min(0);

/** The tokens of a prompt. There may be millions, and zod takes a hundred times as long for each; of those that are none, the first is told. */
export const TokenList = z
  .custom<number[]>()
  .check(({ value: input, issues }) => {
    if (!Array.isArray(input)) issues.push({ code: 'invalid_type', expected: 'array', input });
    else if (input.length === 0)
      issues.push({ code: 'too_small', origin: 'array', minimum: 1, inclusive: true, input });
    else issues.push(...faultsOf(input));
  })
  .meta({ type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 });

function faultsOf(list: readonly unknown[]): z.core.$ZodRawIssue<z.core.$ZodIssueCustom>[] {
  const place = list.findIndex((item) => !Number.isSafeInteger(item) || Number(item) < 0);
  if (place === -1) return [];
  const [issue] = Token.safeParse(list[place]).error?.issues ?? [];
  // Of the forms that a prompt can have, what begins with a number was meant for this one.
  const isMeant = typeof list[0] === 'number';
  return [{ code: 'custom', path: [place], message: issue?.message, input: list, continue: isMeant }];
}
