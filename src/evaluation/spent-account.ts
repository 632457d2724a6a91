import { join } from 'node:path';
import type { SampledTokens } from '../core/sampling-cost';
import { NOTHING_SAMPLED, plusTokens } from '../core/sampling-cost';
import { readJsonLines } from '../stores/json-lines';

/** What one answer may take at most, and then what it took; rows of `journal/spent.jsonl` of a cell or shard. */
export interface SpentRow extends SampledTokens {
  /** Counts the requests of all attempts, from 1. */
  readonly answer: number;
  /** The request is about to be sent. */
  readonly isReserved?: true;
  /** What was asked for at most, where more was reserved because earlier answers took more than they were asked for. */
  readonly asked?: SampledTokens;
}

export interface Spent extends SampledTokens {
  readonly requests: number;
}

/** Of the answers so far, the one that took the most for what it was asked for at most; null where none took more. */
export interface Overrun {
  /** In tokens of answers. */
  readonly answer: { readonly asked: number; readonly taken: number } | null;
  /** Tokens of a prompt above those it was thought to have at most. */
  readonly promptExcess: number;
}

/** What requests took, and what that says of those still to be made. */
export interface SpentAccount {
  readonly spent: Spent;
  /** Requests of which it is known what they took. */
  readonly answeredCount: number;
  readonly overrun: Overrun;
}

export const NOTHING_SPENT: Spent = { ...NOTHING_SAMPLED, requests: 0 };
export const NO_ACCOUNT: SpentAccount = {
  spent: NOTHING_SPENT,
  answeredCount: 0,
  overrun: { answer: null, promptExcess: 0 },
};

export function spentPath(folder: string): string {
  return join(folder, 'journal', 'spent.jsonl');
}

/** Of a folder in which somebody may still be at work; nothing where nobody was. */
export async function readAccount(folder: string): Promise<SpentAccount> {
  return accountOf(await readJsonLines<SpentRow>(spentPath(folder)));
}

/** Rows of a journal, in any order: what was settled stands for what was reserved. A refused request took nothing. */
export function accountOf(rows: readonly SpentRow[]): SpentAccount {
  const reserved = new Map<number, SpentRow>();
  const settled = new Map<number, SpentRow>();
  for (const row of rows) (row.isReserved ? reserved : settled).set(row.answer, row);
  let account = NO_ACCOUNT;
  for (const [answer, row] of reserved) {
    if (!settled.has(answer)) account = plusAccount(account, { ...NO_ACCOUNT, spent: asSpent(row) });
  }
  for (const [answer, row] of settled) {
    const before = reserved.get(answer);
    account = plusAccount(account, accountOfAnswer(before?.asked ?? before ?? row, row));
  }
  return account;
}

/** Of one request that is settled. */
export function accountOfAnswer(asked: SampledTokens, taken: SampledTokens): SpentAccount {
  const spent = asSpent(taken);
  return {
    spent,
    answeredCount: spent.requests,
    overrun: {
      answer: taken.sampled > asked.sampled ? { asked: asked.sampled, taken: taken.sampled } : null,
      promptExcess: Math.max(0, taken.prompt - asked.prompt),
    },
  };
}

export function plusAccount(one: SpentAccount, other: SpentAccount): SpentAccount {
  return {
    spent: plusSpent(one.spent, other.spent),
    answeredCount: one.answeredCount + other.answeredCount,
    overrun: {
      answer: timesAsked(other.overrun) > timesAsked(one.overrun) ? other.overrun.answer : one.overrun.answer,
      promptExcess: Math.max(one.overrun.promptExcess, other.overrun.promptExcess),
    },
  };
}

export function plusSpent(one: Spent, other: Spent): Spent {
  return { ...plusTokens(one, other), requests: one.requests + other.requests };
}

/** How many times what it was asked for an answer took at most; 1 where none took more. */
export function timesAsked({ answer }: Overrun): number {
  return answer === null ? 1 : answer.taken / Math.max(1, answer.asked);
}

/** What a request may take as those before it did; `asked` itself where none took more than it was asked for. */
export function withOverrun(asked: SampledTokens, overrun: Overrun): SampledTokens {
  if (overrun.answer === null && overrun.promptExcess === 0) return asked;
  return {
    prompt: asked.prompt + overrun.promptExcess,
    sampled: Math.ceil(asked.sampled * timesAsked(overrun)),
  };
}

export function asSpent({ prompt, sampled }: SampledTokens): Spent {
  return { prompt, sampled, requests: prompt + sampled > 0 ? 1 : 0 };
}
