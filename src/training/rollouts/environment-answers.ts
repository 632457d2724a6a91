import { z } from 'zod';
import type { Message } from '../../core/conversation';
import { ownCopy } from '../../core/own-copy';
import { declaredTools } from '../../evaluation/declared-tools';
import { messageOf } from '../../evaluation/error-message';
import { spokenMessages } from '../../evaluation/spoken-messages';
import type { RolloutGrade, TrainingObservation, TrainingStep } from '../environments/environment-dataset';
import { problemOfName, problemOfNames } from '../../core/metric-names';
import { RolloutFailure } from './rollout-failure';

const aMessage = z.looseObject({
  role: z.string().min(1),
  content: z.union([
    z.string(),
    z.array(
      z.discriminatedUnion('type', [
        z.looseObject({ type: z.literal('text'), text: z.string() }),
        z.looseObject({ type: z.literal('thinking'), thinking: z.string() }),
      ]),
    ),
  ]),
});
const Messages = z.array(aMessage);
const numbers = z.record(z.string(), z.number());
/** Gradients are float32, and so is the sum of their squares: of rewards beyond this it would be infinite. */
const LARGEST_REWARD = 1e15;
const aReward = z.number().min(-LARGEST_REWARD).max(LARGEST_REWARD);
const aPrompt = z.looseObject({
  tokens: z.array(z.int().min(0)).min(1),
  stop: z.union([z.array(z.int().min(0)), z.array(z.string())]).optional(),
});

const ObservationShape = z.looseObject({
  messages: Messages,
  prompt: aPrompt.optional(),
  tools: z.array(z.unknown()).optional(),
});

const StepShape = z.looseObject({
  reward: aReward,
  isDone: z.boolean(),
  nextMessages: Messages,
  nextPrompt: aPrompt.optional(),
  metrics: numbers.optional(),
  logs: z.record(z.string(), z.unknown()).optional(),
  answer: z.string().nullable().optional(),
  stopReason: z.string().optional(),
});

const GradeShape = z.looseObject({ reward: aReward, metrics: numbers.optional() });

/** What an environment answered, where it is what environments answer; else its rollout has failed. */
export function checkedObservation(given: TrainingObservation): TrainingObservation {
  const observation = checked(ObservationShape, given, 'initialObservation');
  const { tools } = observation;
  return inOwnForm(() => ({
    ...observation,
    messages: spokenMessages(observation.messages, 'messages'),
    ...(tools && { tools: declaredTools(tools) }),
  }));
}

/** What is in no form of the field is no answer. */
function inOwnForm<Answer>(read: () => Answer): Answer {
  try {
    return read();
  } catch (error) {
    throw new RolloutFailure('environment_garbage', error);
  }
}

export function checkedStep(given: TrainingStep): TrainingStep {
  const step = checked(StepShape, given, 'step');
  requireNames(step, 'step');
  return inOwnForm(() => ({ ...step, nextMessages: spokenMessages(step.nextMessages, 'nextMessages') }));
}

export function checkedMessages(given: readonly Message[]): readonly Message[] {
  const messages = checked(Messages, given, 'beforeTurn');
  return inOwnForm(() => spokenMessages(messages, 'beforeTurn'));
}

export function checkedGrade(given: RolloutGrade): RolloutGrade {
  const grade = checked(GradeShape, given, 'gradeEarlyEnd');
  requireNames(grade, 'gradeEarlyEnd');
  return grade;
}

/** Grades of a group, one a rollout. */
export function checkedGrades(given: readonly RolloutGrade[], count: number): readonly RolloutGrade[] {
  const grades = checked(z.array(GradeShape).length(count), given, 'rewards');
  for (const grade of grades) requireNames(grade, 'rewards');
  return grades;
}

export function checkedStopReason(given: string): string {
  const stopReason = checked(z.string(), given, 'nameStop');
  requireNames({ stopReason }, 'nameStop');
  return stopReason;
}

/**
 * Types say what plug-ins return, and plug-ins may return anything. zod's numbers are finite. Nothing that the environment does to its
 * answer later changes the rollout.
 */
function checked<Answer>(shape: z.ZodType, given: Answer, where: string): Answer {
  const copy = ownCopy(given);
  // Of a class of theirs a copy may lack what the answer has.
  if (copy !== given && readAs(shape, copy).issue === null) return copy;
  const { value, issue } = readAs(shape, given);
  if (issue !== null) throw garbage([where, ...issue.path.map(String)].join('.'), issue.message);
  // What was read, and not the answer, which may say something else when it is asked again.
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the shape is the answer's
  return ownCopy(value) as Answer;
}

type Named = Pick<TrainingStep, 'metrics' | 'stopReason'>;

/** Names become parts of metrics' keys. */
function requireNames({ metrics = {}, stopReason }: Named, where: string): void {
  const problem =
    problemOfNames(Object.keys(metrics)) ?? (stopReason === undefined ? null : problemOfName(stopReason));
  if (problem !== null) throw garbage(where, problem);
}

function garbage(where: string, what: string): RolloutFailure {
  return new RolloutFailure('environment_garbage', new Error(`${where} of the environment: ${what}`));
}

type Issue = Pick<z.core.$ZodIssue, 'path' | 'message'>;

interface Reading {
  readonly value: unknown;
  readonly issue: Issue | null;
}

/** What cannot even be read, such as a getter that throws, is no answer either. */
function readAs(shape: z.ZodType, given: unknown): Reading {
  try {
    const { data, error } = shape.safeParse(given);
    return { value: data, issue: error?.issues[0] ?? null };
  } catch (error) {
    return { value: null, issue: { path: [], message: `cannot be read (${messageOf(error)})` } };
  }
}
