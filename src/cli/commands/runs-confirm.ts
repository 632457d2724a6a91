import { createInterface } from 'node:readline/promises';
import { DomainError } from '../../core/errors';
import type { Output } from '../output';

/** Asks whether it is meant; null where nobody can be asked. */
export type Ask = ((question: string) => Promise<boolean>) | null;

/** Somebody who can be asked: at a terminal on both ends, and not a program that reads JSON. */
export function askerOf({ isJson }: Pick<Output, 'isJson'>): Ask {
  return !isJson && process.stdin.isTTY && process.stderr.isTTY ? askOnTerminal : null;
}

export interface Words {
  readonly question: string;
  /** Said where nobody can be asked. */
  readonly refusal: string;
  readonly declined: string;
}

/** Refuses what cannot be undone and was not meant. */
export async function confirmInWords(
  output: Pick<Output, 'isJson'>,
  { yes }: { readonly yes?: boolean },
  { question, refusal, declined }: Words,
): Promise<void> {
  if (yes) return;
  const ask = askerOf(output);
  if (ask === null) throw new DomainError('bad-config', refusal);
  if (!(await ask(`${question} [y/N] `))) throw new DomainError('bad-config', declined);
}

async function askOnTerminal(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await prompt.question(question));
  } finally {
    prompt.close();
  }
}
