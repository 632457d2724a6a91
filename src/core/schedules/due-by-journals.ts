import type { SentRow } from '../training-plan';
import type { EvaluationSchedule, StepFacts } from './evaluation-schedule';
import { schedulesDueAt } from './evaluation-schedule';

/** What tells whether a schedule was due at a step. */
interface DueSources {
  readonly sent: readonly SentRow[];
  readonly totalSteps: number;
  /** Cells that were begun, as `<step>/<evaluator>`. */
  readonly begun: ReadonlySet<string>;
}

type IsDue = (schedule: EvaluationSchedule, step: number) => boolean;

/**
 * Whether a schedule was due at a step, as the run itself decided it.
 *
 * By steps that follows from the schedule. By tokens and by the clock each sent step names it. Where rows of an earlier
 * version do not, tokens are counted again, and by the clock what was begun was due.
 */
export function dueByJournals({ sent, totalSteps, begun }: DueSources): IsDue {
  const steps = sentSteps(sent);
  return (schedule, step) => {
    const isNamed = steps.get(step)?.named.has(schedule.name) === true;
    const counted = countedTokens(steps, step);
    const facts = { step, totalSteps, ...(counted ?? NO_TOKENS) };
    if (isNamed || schedulesDueAt([schedule], facts).length > 0) return true;
    const isTold = step === 0 || steps.get(step)?.isWhole === true || isToldBy(schedule, counted !== null);
    return !isTold && schedule.evaluators.some((each) => begun.has(`${step}/${each}`));
  };
}

/** Whether steps, and tokens where they are counted, say all of when it is due. */
function isToldBy({ every }: EvaluationSchedule, isCounted: boolean): boolean {
  return every === undefined || 'steps' in every || ('tokens' in every && isCounted);
}

interface SentStep {
  readonly tokens: number;
  /** Schedules due there in any life of the model: a later one does not evaluate again what an earlier one has. */
  readonly named: ReadonlySet<string>;
  /** All of its rows name what was due. */
  readonly isWhole: boolean;
}

function sentSteps(rows: readonly SentRow[]): ReadonlyMap<number, SentStep> {
  const steps = new Map<number, SentStep>();
  for (const { step, tokens, schedules } of rows) {
    const before = steps.get(step) ?? { named: [], isWhole: true };
    const named = new Set([...before.named, ...(schedules ?? [])]);
    steps.set(step, { tokens, named, isWhole: before.isWhole && schedules !== undefined });
  }
  return steps;
}

type Tokens = Pick<StepFacts, 'tokensBefore' | 'tokensAfter'>;

const NO_TOKENS: Tokens = { tokensBefore: 0, tokensAfter: 0 };

/** null where rows name what was due, or are not all there. */
function countedTokens(steps: ReadonlyMap<number, SentStep>, step: number): Tokens | null {
  const sent = steps.get(step);
  const tokensBefore = step === 1 ? 0 : steps.get(step - 1)?.tokens;
  if (!sent || sent.isWhole || tokensBefore === undefined) return null;
  return { tokensBefore, tokensAfter: sent.tokens };
}
