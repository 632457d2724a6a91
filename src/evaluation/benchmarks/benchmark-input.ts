import { z } from 'zod';
import { nearestKey } from '../../core/nearest-key';
import type { Message } from '../../core/conversation';
import type { MessageEnvironment } from '../../core/environment';
import type { PythonName } from '../../core/python';
import type { Example } from '../example';
import type { Grader, Score } from '../graders/grader';
import type { Row } from '../graders/row-grader';
import type { WrittenMethodInput } from '../judges/methods/written-method';
import { WrittenMethodShape } from '../judges/methods/written-method';
import type { Benchmark, GenerationDefaults } from './benchmark';

/** Judges one completion: 0 wrong … 1 right, or a whole score. Throwing means that judging itself failed. */
export type GraderFunction = (
  completion: string,
  example: Example,
) => number | boolean | Score | Promise<number | boolean | Score>;

/** A question as plug-ins write it. */
export interface ExampleInput {
  /** Default: the field's, made of the prompt. */
  readonly id?: string;
  /** One message of the user's; or the conversation. */
  readonly prompt?: string;
  readonly messages?: readonly Message[];
  readonly target?: string | null;
  readonly row?: Row;
  /** What it hangs on together with other examples; comparisons then have clustered standard errors. */
  readonly cluster?: string;
}

/** A benchmark of one's own. What is left out is filled in. */
export interface BenchmarkInput {
  /** Raise it with every change that moves the score; default 1. */
  readonly version?: number;
  readonly description?: string;
  readonly comparableWith?: string;
  /** `path` counts from the plug-in file. */
  readonly data: Benchmark['data'];
  /** Default: the order of the rows. */
  readonly orderSeed?: number | null;
  /** null leaves the row out. */
  toExample(row: Row, index: number): ExampleInput | null;
  readonly generation?: Partial<GenerationDefaults>;
  readonly systemPrompt?: string;
  readonly metric?: string;
  /** Needed without an environment or a judge. */
  readonly grader?: Grader | GraderFunction | PythonName;
  /** In place of a grader: what a model is asked of each answer; which model, `--judge` or the config says. */
  readonly judge?: WrittenMethodInput;
  /** For several turns; its rewards are the score. */
  environment?(example: Example): MessageEnvironment;
}

const aFunction = z.custom<(...given: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);

/** Keys that say who it is. */
const NAMES = ['id', 'name'];

const BenchmarkShape = z
  .looseObject({
    version: z.int().min(1).optional(),
    description: z.string().optional(),
    comparableWith: z.string().optional(),
    data: z.union(
      [
        z.looseObject({ rows: aFunction }),
        z.looseObject({ path: z.string().min(1) }),
        z.looseObject({ hub: z.string().regex(/^[^/\s]+\/[^/\s]+$/), split: z.string().min(1) }),
      ],
      'must be { rows: function }, { path } or { hub, split, revision }',
    ),
    orderSeed: z.int().nullable().optional(),
    toExample: aFunction,
    generation: z
      .strictObject({
        maxTokens: z.int().min(1).optional(),
        temperature: z.number().min(0).optional(),
        topP: z.number().positive().max(1).optional(),
      })
      .optional(),
    systemPrompt: z.string().optional(),
    metric: z.string().min(1).optional(),
    grader: z
      .union(
        [
          aFunction,
          z.looseObject({ grade: aFunction }),
          z.strictObject({ python: z.string().min(1), taskQueue: z.string().min(1).optional() }),
        ],
        'must be a function, or pythonGrader(name)',
      )
      .optional(),
    judge: WrittenMethodShape.optional(),
    environment: aFunction.optional(),
  })
  .refine((given) => [given.grader, given.judge, given.environment].some((way) => way !== undefined), {
    path: ['grader'],
    message: 'is missing; give a grader, a judge, or an environment for several turns',
  })
  .refine(({ judge, grader, environment }) => judge === undefined || !(grader ?? environment), {
    path: ['judge'],
    message: 'stands in place of a grader and of an environment; give one of them',
  });

/** What is wrong with it in a few words; null where nothing is. */
export function problemOf(input: unknown): string | null {
  const misspelt = typeof input === 'object' && input !== null ? misspeltKey(input) : null;
  if (misspelt !== null) return misspelt;
  const result = BenchmarkShape.safeParse(input);
  const [issue] = result.error?.issues ?? [];
  if (issue === undefined) return null;
  if (issue.path.length === 0) return 'must be an object';
  return `${issue.path.join('.')}: ${issue.message}`;
}

/** A key of its own an object may have, as what its functions share; one that is nearly one of ours is meant as ours. */
function misspeltKey(input: object): string | null {
  const known = Object.keys(BenchmarkShape.shape);
  for (const key of Object.keys(input)) {
    if (known.includes(key) || NAMES.includes(key)) continue;
    const meant = nearestKey(key, known);
    if (meant !== undefined) return `Unknown key "${key}". Did you mean "${meant}"?`;
  }
  return null;
}

export function isBenchmarkInput(input: unknown): input is BenchmarkInput {
  return BenchmarkShape.safeParse(input).success;
}

const ExampleShape = z
  .looseObject({
    id: z.string().min(1).optional(),
    prompt: z.string().optional(),
    messages: z
      .array(z.looseObject({ role: z.string(), content: z.unknown() }))
      .min(1)
      .optional(),
    target: z.string().nullable().optional(),
    row: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(({ prompt, messages }) => prompt !== undefined || messages !== undefined);

export function isExampleInput(given: unknown): given is ExampleInput {
  return ExampleShape.safeParse(given).success;
}

export function isEnvironment(given: unknown): given is MessageEnvironment {
  return z.looseObject({ initialObservation: aFunction, step: aFunction }).safeParse(given).success;
}
