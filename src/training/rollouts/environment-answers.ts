import { z } from 'zod';
import type { Message } from '../../core/conversation';
import type { RolloutGrade, TrainingObservation, TrainingStep } from '../environments/environment-dataset';
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
  tools: z
    .array(
      z.looseObject({
        name: z.string(),
        description: z.string(),
        parameters: z.record(z.string(), z.unknown()),
      }),
    )
    .optional(),
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
  requireShape(ObservationShape, given, 'initialObservation');
  return given;
}

export function checkedStep(given: TrainingStep): TrainingStep {
  requireShape(StepShape, given, 'step');
  return given;
}

export function checkedMessages(given: readonly Message[]): readonly Message[] {
  requireShape(Messages, given, 'beforeTurn');
  return given;
}

export function checkedGrade(given: RolloutGrade): RolloutGrade {
  requireShape(GradeShape, given, 'gradeEarlyEnd');
  return given;
}

/** Grades of a group, one a rollout. */
export function checkedGrades(given: readonly RolloutGrade[], count: number): readonly RolloutGrade[] {
  requireShape(z.array(GradeShape).length(count), given, 'rewards');
  return given;
}

/** Types say what plug-ins return, and plug-ins may return anything. zod's numbers are finite. */
function requireShape(shape: z.ZodType, given: unknown, where: string): void {
  const issue = issueOf(shape, given);
  if (issue === null) return;
  const place = [where, ...issue.path.map(String)].join('.');
  throw new RolloutFailure('environment_garbage', new Error(`${place} of the environment: ${issue.message}`));
}

type Issue = Pick<z.core.$ZodIssue, 'path' | 'message'>;

/** What cannot even be read, such as a getter that throws, is no answer either. */
function issueOf(shape: z.ZodType, given: unknown): Issue | null {
  try {
    return shape.safeParse(given).error?.issues[0] ?? null;
  } catch (error) {
    return {
      path: [],
      message: `cannot be read (${error instanceof Error ? error.message : String(error)})`,
    };
  }
}
