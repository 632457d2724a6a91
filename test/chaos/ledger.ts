import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** What the engine's ledger says of the optimizer steps it applied, over all its lives. */
export interface AppliedSteps {
  readonly count: number;
  readonly violations: readonly string[];
}

export interface LedgerQuestion {
  readonly dataFolder: string;
  readonly steps: number;
  readonly stepsReplayed: number;
}

interface LedgerRow {
  readonly model: string;
  readonly step: number;
}

/**
 * Null where the engine keeps no ledger. Within one life of a model each step is applied once and in order. Over all
 * lives, the steps applied are those of the run and those that the run says it replayed.
 */
export function readAppliedSteps(question: LedgerQuestion): AppliedSteps | null {
  const file = path.join(question.dataFolder, 'engine', 'applied-steps.jsonl');
  if (!existsSync(file)) return null;
  const rows = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as LedgerRow);
  return { count: rows.length, violations: [...findDisorder(rows), ...findMiscount(rows.length, question)] };
}

function findDisorder(rows: readonly LedgerRow[]): string[] {
  const last = new Map<string, number>();
  const violations: string[] = [];
  for (const { model, step } of rows) {
    const before = last.get(model) ?? 0;
    if (step !== before + 1) violations.push(`${model} applied step ${step} after ${before}`);
    last.set(model, step);
  }
  return violations;
}

function findMiscount(count: number, { steps, stepsReplayed }: LedgerQuestion): string[] {
  if (count === steps + stepsReplayed) return [];
  return [`${count} optimizer steps applied; ${steps} of the run, ${stepsReplayed} replayed`];
}
