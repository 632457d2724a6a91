import type { EvaluatorConfig } from '../config/evaluation-config';
import { DomainError } from '../core/errors';
import { findBenchmark } from './benchmarks';
import { givenDates, withinDates } from './benchmarks/date-window';
import { digestOf } from './digest';
import type { CellWork, EvaluationDependencies } from './evaluators/evaluation-context';
import { identityOf } from './evaluators/evaluation-context';
import { judgeIdentity } from './judges/judged-grader';
import { findKind } from './kinds';
import type { PluginRegistry } from './plugins';
import type { StoredCell } from './stored-cell';

type AskedCell = CellWork & { readonly evaluator: EvaluatorConfig };

/** Digest of what decides a cell's scores beside its weights: the evaluator, the code that judges, and who judges again. */
export function cellMaking(
  { plugins, rejudging }: Pick<EvaluationDependencies, 'plugins' | 'rejudging'>,
  evaluator: EvaluatorConfig,
): string {
  return digestOf([evaluator, codeOf(evaluator, plugins), rejudging?.judges.map(judgeIdentity) ?? null]);
}

/** A cell that somebody asks for by name is told as stored only where it is of the same weights, and made as it would be now. */
export function refuseOtherCell({ model, making, at }: StoredCell, asked: AskedCell, now: string): void {
  const what =
    identityOf(model) !== identityOf(asked.model)
      ? `of other weights (${model.path}, and ${asked.model.path} is asked for)`
      : making !== undefined && making !== now
        ? 'with another evaluator, plug-in file, grader or judge'
        : null;
  if (what === null) return;
  throw new DomainError(
    'refused',
    `${asked.name} in ${asked.folder} was scored ${what} at ${at}. Score it anew with another --run NAME or --output DIR.`,
  );
}

/** Versions of the code that an evaluator names; those of a plug-in hold the digest of its file. */
function codeOf(evaluator: EvaluatorConfig, plugins: PluginRegistry): unknown {
  switch (evaluator.type) {
    case 'benchmark': {
      const { version, grader } = withinDates(
        findBenchmark(evaluator.benchmark, plugins),
        givenDates(evaluator),
      );
      return [version, grader.version];
    }
    case 'kind': {
      const { version, codeHash } = findKind(evaluator.task, plugins, evaluator.options);
      return [version, codeHash ?? null];
    }
    case 'custom':
      return typeof evaluator.grader === 'string' ? plugins.hash : null;
    case 'plugin':
      return plugins.hash;
    default:
      return null;
  }
}
