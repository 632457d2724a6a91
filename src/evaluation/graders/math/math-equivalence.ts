import { z } from 'zod';
import { DomainError } from '../../../core/errors';
import { withChoiceAlone } from './choice-alone';
import { cleanLatex } from './clean-latex';
import type { ReadAnswer } from './compare-shapes';
import { areSame, readAnswer } from './compare-shapes';
import type { NumberShape } from './answer-shape';
import { isSameNumber } from './exact-number';
import type { ExactPath, ExactQuestion } from './exact-path';
import { endsInOpenBox, findBoxes } from '../boxed';
import { areSameQuantities } from './compare-scalars';
import { findAnswer, fromBoxes } from './find-answer';
import { areUnitsCompatible } from './units';
import type { MathInterpreter } from './math-process';
import { withRelationsAsSets } from './relation-sets';
import { MathProcess, QUESTION_LIMIT_MS } from './math-process';

export interface MathVerdict {
  readonly isEqual: boolean;
  /** What was read as the given answer; null when there is none. */
  readonly answer: string | null;
  /** Who decided: the rules in this process, or the interpreter that was asked. */
  readonly path: 'fast' | MathInterpreter;
  /**
   * Present where a question was ended: by time, by its process dying (for instance of memory), or by a number that is too large to be worked
   * out; not equal then.
   */
  readonly limit?: 'time' | 'process' | 'size';
}

/** Verdicts kept: many completions of one example give the same answer. */
const REMEMBERED = 5000;
/** Longer texts are no answers. */
const LONGEST_ANSWER = 10_000;

/**
 * Decides whether two answers are mathematically equal. One instance shares one process, started when the first
 * question needs algebra; it ends with this process or with `close`.
 */
export class MathEquivalence {
  private readonly process = new MathProcess();
  private readonly remembered = new Map<string, MathVerdict>();

  constructor(private readonly limitMs: number = QUESTION_LIMIT_MS) {}

  async judge(given: string, expected: string): Promise<MathVerdict> {
    const [answer, reference] = [findAnswer(given), requireReference(expected)];
    if (answer === null) return { isEqual: false, answer, path: 'fast' };
    const key = JSON.stringify([answer, reference]);
    const known = this.remembered.get(key);
    if (known) return known;
    const verdict = await this.compare(answer, reference);
    this.remember(key, verdict);
    return verdict;
  }

  close(): Promise<void> {
    return this.process.close();
  }

  private async compare(answer: string, reference: string): Promise<MathVerdict> {
    if (answer.length > LONGEST_ANSWER) return { isEqual: false, answer, path: 'fast' };
    if (isSameDigits(answer, reference)) return { isEqual: true, answer, path: 'fast' };
    const exact = new TimedPath(this.process, this.limitMs);
    const [mine, theirs] = [read(withChoiceAlone(answer, reference)), read(reference)];
    const isEqual = (await areSame(mine, theirs, exact)) && exact.limit === undefined;
    const path = exact.wasAsked ? this.process.interpreter : 'fast';
    const limit = exact.limit ?? (exact.metTooLarge && !isEqual ? 'size' : undefined);
    return { isEqual, answer, path, ...(limit && { limit }) };
  }

  private remember(key: string, verdict: MathVerdict): void {
    const [oldest] = this.remembered.keys();
    if (this.remembered.size >= REMEMBERED && oldest !== undefined) this.remembered.delete(oldest);
    this.remembered.set(key, verdict);
  }
}

/** The answer of a reference. One in which none is found is refused. */
export function requireReference(expected: string): string {
  const reference = findReference(expected);
  if (reference === null) throw noReference(expected);
  return reference;
}

/** The answer of a reference; null where none is found. */
export function findReference(expected: string): string | null {
  return findAnswer(withClosedBox(expected));
}

/** The answer that a solution boxes, as text of a reference; null where it boxes none. */
export function boxedReference(solution: string): string | null {
  const whole = withClosedBox(solution);
  const found = fromBoxes(whole);
  if (found === null) return null;
  const last = findBoxes(whole).at(-1)?.content ?? '';
  return found.trim() === last.trim() ? last : `\\boxed{${found}}`;
}

/**
 * Whether two references are plain numbers that no reading makes equal. Those in units, percentages or forms that differ, and what only
 * algebra could tell apart, are not.
 */
export function areOtherNumbers(one: string, other: string): boolean {
  const [left, right] = [numberIn(one), numberIn(other)];
  if (!left || !right) return false;
  if (left.isPercent !== right.isPercent || !areUnitsCompatible(left.unit, right.unit)) return false;
  return !areSameQuantities(left, right);
}

/** Whether two references are one number in one unit, however it is written. */
export function areOneNumber(one: string, other: string): boolean {
  const [left, right] = [numberIn(one), numberIn(other)];
  if (!left || !right) return false;
  return (
    left.isPercent === right.isPercent && left.unit === right.unit && isSameNumber(left.value, right.value)
  );
}

function numberIn(reference: string): NumberShape | null {
  const found = findReference(reference);
  const shape = found === null ? null : read(found).shape;
  return shape?.kind === 'number' ? shape : null;
}

function read(answer: string): ReadAnswer {
  return readAnswer(cleanLatex(withRelationsAsSets(withDollars(answer))));
}

/** Plain spaces in a bare whole number do not count: the vectors of tinker-cookbook have "3 4" for 34. */
function isSameDigits(answer: string, reference: string): boolean {
  const [mine, theirs] = [answer, reference].map((text) => text.replaceAll(' ', ''));
  return mine === theirs && [answer, reference].every((text) => /^[\d ]+$/.test(text));
}

/** A price as a quantity with a unit. */
function withDollars(answer: string): string {
  return answer.replace(/^\s*(-?)\\?\$\s*(\d[\d.,]*)\s*$/, '$1$2\\text{ dollars}');
}

/** Of a reference alone: nobody is credited for having been cut off. */
function withClosedBox(reference: string): string {
  let closed = reference;
  for (let depth = 0; depth < 3 && endsInOpenBox(closed); depth++) closed += '}';
  return closed;
}

function noReference(expected: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `example: no answer found in the reference ${JSON.stringify(expected.slice(0, 80))}. Give it as \\boxed{…}, in $…$ or bare.`,
  );
}

/** All questions about one pair of answers share one limit of processor time. */
class TimedPath implements ExactPath {
  wasAsked = false;
  metTooLarge = false;
  limit: 'time' | 'process' | undefined;
  private remainingMs: number;

  constructor(
    private readonly process: MathProcess,
    limitMs: number,
  ) {
    this.remainingMs = limitMs;
  }

  async areEqual(question: ExactQuestion): Promise<boolean> {
    if (this.limit) return false;
    this.wasAsked = true;
    const { line, limit, usedMs } = await this.process.ask(JSON.stringify(question), this.remainingMs);
    this.remainingMs -= usedMs;
    if (limit) this.limit = limit;
    else if (this.remainingMs <= 0) this.limit = 'time';
    const reply = line === null ? {} : ExactReply.parse(JSON.parse(line));
    if (reply.limit === 'size') this.metTooLarge = true;
    return reply.verdict === 'equal';
  }
}

const ExactReply = z.object({ verdict: z.string().optional(), limit: z.string().optional() });
