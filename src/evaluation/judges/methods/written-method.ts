import { z } from 'zod';
import type { EvaluatorConfig } from '../../../config/evaluation-config';
import type { JudgeMethod } from '../../graders/grader';
import { modelGraded } from './model-graded';
import { rubric } from './rubric';
import { singleScore } from './single-score';

const Words = z.string().min(1);

type WrittenMethod = Pick<
  Extract<EvaluatorConfig, { type: 'modelGraded' }>,
  'method' | 'partialCredit' | 'template' | 'instructions' | 'scale' | 'rubric'
>;

/** As `modelGraded` evaluators have it in a config. */
const Written = z.strictObject({
  method: z.enum(['qa', 'fact', 'score', 'rubric']).default('qa'),
  partialCredit: z.boolean().default(false),
  template: Words.optional(),
  instructions: Words.optional(),
  scale: z
    .tuple([z.int().min(0), z.int().min(1)])
    .refine(([lowest, highest]) => lowest < highest, 'the first is the lowest')
    .default([1, 10]),
  rubric: z.array(Words).min(1).optional(),
}) satisfies z.ZodType<WrittenMethod>;

/** How judges are asked, as a person writes it; who they are is said elsewhere. */
export type WrittenMethodInput = z.input<typeof Written>;

/** A method is told by what is given for it. */
export const WrittenMethodShape = z.preprocess(withMethod, Written).superRefine((written, context) => {
  const { method, template, instructions, rubric: items } = written;
  const isGraded = method === 'qa' || method === 'fact';
  if (isGraded && items) context.addIssue(`"rubric" is of method rubric, not ${method}`);
  if (!isGraded && (template ?? instructions) !== undefined)
    context.addIssue(`"template" and "instructions" are of methods qa and fact, not ${method}`);
});

function withMethod(written: unknown): unknown {
  if (typeof written !== 'object' || written === null || 'method' in written) return written;
  if ('rubric' in written) return { ...written, method: 'rubric' };
  return 'scale' in written ? { ...written, method: 'score' } : written;
}

/** Grades make an accuracy, as in the field; ratings do not. */
export function modelGradedMetric(method: WrittenMethod['method']): string {
  return method === 'qa' || method === 'fact' ? 'accuracy' : 'score';
}

/** Whether judges compare with the last reply of the example: not where a template of one's own does not name it. */
export function needsCriterion({
  method,
  template = '{criterion}',
}: {
  readonly method?: string | undefined;
  readonly template?: string | undefined;
}): boolean {
  return (method === 'qa' || method === 'fact') && template.includes('{criterion}');
}

/** How a config asks judges. */
export function methodOf(config: WrittenMethod): JudgeMethod {
  const { method, partialCredit, template, instructions, scale, rubric: items } = config;
  switch (method) {
    case 'qa':
    case 'fact':
      return modelGraded({
        kind: method,
        partialCredit,
        ...(template !== undefined && { template }),
        ...(instructions !== undefined && { instructions }),
      });
    case 'score':
      return singleScore({ scale });
    case 'rubric':
      return rubric(items ? { items } : {});
  }
}
