import type { JudgeSource } from '../../core/benchmark-run';
import type { TemplateArguments } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { digestOf } from '../digest';
import type { Grader, JudgeMethod } from '../graders/grader';
import { totalOfParsed } from './parsed-total';

/** A grader that asks judges, as declared: it judges once it is opened with some. */
export function judgedGrader(method: JudgeMethod): Grader {
  return {
    name: method.name,
    version: method.version,
    judging: method,
    boundsItself: true,
    grade() {
      throw needsJudge(method.name);
    },
    total: (units) => method.total?.(units) ?? totalOfParsed(units),
  };
}

/** The grader as these judges make it: another judge is another grader, so that no judgement is taken for another's. */
export function withJudges(grader: Grader, judges: readonly JudgeSource[] | undefined): Grader {
  if (!grader.judging) return grader;
  return { ...grader, version: `${grader.version} judges:${digestOf((judges ?? []).map(judgeIdentity))}` };
}

export function refuseWithoutJudge(grader: Grader, judges: readonly JudgeSource[] | undefined): void {
  if (grader.judging && !judges?.length) throw needsJudge(grader.name);
}

export function needsJudge(name: string): DomainError {
  return new DomainError(
    'bad-config',
    `${name} is judged by a model, and none is named. Give --judge MODEL with --judge-endpoint URL, or "judge" in the config.`,
  );
}

/** What decides a judgement, beside what is asked. */
export interface JudgeIdentity {
  readonly model: string;
  /** The endpoint, or the weights. */
  readonly at: string;
  readonly api?: string;
  readonly renderer?: string;
  readonly templateArguments?: TemplateArguments;
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number | null;
}

export function judgeIdentity({ model, temperature, topP, maxTokens }: JudgeSource): JudgeIdentity {
  const sampling = { temperature, topP, maxTokens: maxTokens ?? null };
  if (model.type === 'endpoint') return { model: model.model, at: model.url, api: model.api, ...sampling };
  const { identity, path, renderer, templateArguments } = model;
  const at = identity ?? path ?? 'base model';
  return {
    ...{ model: model.model, at },
    ...(renderer !== undefined && { renderer }),
    ...(templateArguments && { templateArguments }),
    ...sampling,
  };
}

/** What `result.json` says of the judges of a benchmark; nothing where none is asked. */
export function judgesOfIdentity(
  grader: Grader,
  judges: readonly JudgeSource[] | undefined,
): { readonly judges?: readonly JudgeIdentity[] } {
  return grader.judging ? { judges: (judges ?? []).map(judgeIdentity) } : {};
}
