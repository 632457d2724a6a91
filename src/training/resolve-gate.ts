import type { EvaluatorConfig, GateConfig } from '../config/evaluation-config';
import { DomainError } from '../core/errors';
import type { EvaluationGate } from '../core/gates/gate';
import { BENCHMARKS } from '../evaluation/benchmarks';
import { modelGradedMetric } from '../evaluation/judges/methods/written-method';
import { lookUpKind } from '../evaluation/kinds';

interface NamedEvaluator {
  readonly name: string;
  readonly evaluator: EvaluatorConfig;
}

export interface GateSite {
  /** Name of the schedule. */
  readonly schedule: string;
  readonly evaluators: readonly NamedEvaluator[];
}

interface KnownMetric {
  readonly key: string;
  readonly higherIsBetter: boolean;
}

/**
 * A gate with the evaluator that gives its score and the score's direction. Refused where no evaluator of the schedule gives
 * the score, or nobody says which direction is good.
 */
export function resolveGate(gate: GateConfig, { schedule, evaluators }: GateSite): EvaluationGate {
  const { metric, rule, on, otherwise, promotes } = gate;
  const by = gate.by ?? (on === 'value' ? 'point' : 'significance');
  const where = `schedules: gate of "${schedule}"`;
  const owner = ownerOf(evaluators, metric);
  if (owner === null) {
    const known = evaluators.map(shownKeys).join(', ');
    throw refusal(`${where}: no evaluator of the schedule gives "${metric}". They give: ${known}.`);
  }
  const higherIsBetter = directionOf(where, gate, owner);
  refuseWrongSide(where, gate, higherIsBetter);
  if (isShare(owner, metric)) refuseBeyondShares(where, gate);
  return { evaluator: owner.name, metric, rule, on, by, otherwise, promotes, higherIsBetter };
}

function directionOf(where: string, { metric, higherIsBetter }: GateConfig, owner: NamedEvaluator): boolean {
  const declared = knownMetrics(owner)?.find(({ key }) => key === metric)?.higherIsBetter;
  if (declared === undefined && higherIsBetter === undefined) {
    throw refusal(
      `${where}: evaluator "${owner.name}" does not say whether "${metric}" is better when it is higher. Set gate.higherIsBetter to true or false.`,
    );
  }
  const given = higherIsBetter ?? declared;
  const direction = declared ?? given;
  if (given !== direction) {
    throw refusal(
      `${where}: "${metric}" is better when it is ${direction ? 'higher' : 'lower'}. Leave gate.higherIsBetter out.`,
    );
  }
  return direction === true;
}

function refuseWrongSide(where: string, { metric, rule }: GateConfig, higherIsBetter: boolean): void {
  const isWrong = higherIsBetter ? 'atMost' in rule : 'atLeast' in rule;
  if (!isWrong) return;
  throw refusal(
    `${where}: "${metric}" is better when it is ${higherIsBetter ? 'higher' : 'lower'}. Use ${higherIsBetter ? 'atLeast' : 'atMost'}.`,
  );
}

function isShare({ evaluator: { type } }: NamedEvaluator, metric: string): boolean {
  return type === 'benchmark' || type === 'comparison' || metric.endsWith('/correct');
}

function refuseBeyondShares(where: string, { metric, rule }: GateConfig): void {
  if (!('atLeast' in rule) || rule.atLeast <= 1) return;
  const percent = rule.atLeast <= 100 ? ` For ${rule.atLeast} % write ${rule.atLeast / 100}.` : '';
  throw refusal(
    `${where}: "${metric}" is a share, between 0 and 1; no checkpoint reaches atLeast: ${rule.atLeast}.${percent}`,
  );
}

/** Who gives a score. What an evaluator of one's own returns is known when it has run; its metrics may have any name with a slash. */
function ownerOf(evaluators: readonly NamedEvaluator[], metric: string): NamedEvaluator | null {
  const free = evaluators.filter((named) => knownMetrics(named) === null);
  return (
    evaluators.find((named) => knownMetrics(named)?.some(({ key }) => key === metric)) ??
    free.find(({ name }) => metric.startsWith(`test/${name}/`)) ??
    (metric.includes('/') ? free[0] : undefined) ??
    null
  );
}

/** null where the evaluator names its metrics itself. */
function knownMetrics({ name, evaluator }: NamedEvaluator): readonly KnownMetric[] | null {
  const metric = (key: string, higherIsBetter: boolean) => ({ key, higherIsBetter });
  switch (evaluator.type) {
    case 'nll':
      return [metric(`${name}/nll`, false), metric(`${name}/bpb`, false)];
    case 'benchmark':
      return [metric(`test/${name}/${benchmarkMetric(evaluator.benchmark)}`, true)];
    case 'custom':
      return [metric(`test/${name}/accuracy`, true)];
    case 'modelGraded':
      return [metric(`test/${name}/${modelGradedMetric(evaluator.method)}`, true)];
    case 'comparison':
      return [metric(`test/${name}/win_rate`, true)];
    case 'rlTestSet':
      return [
        ...['env/all/reward/total', 'env/all/correct'].map((key) => metric(`test/${key}`, true)),
        metric(`test/${name}/accuracy`, true),
      ];
    case 'kind':
      return kindMetrics(name, evaluator.task);
    default:
      return null;
  }
}

function benchmarkMetric(name: string): string {
  const plain = name.replaceAll('-', '_');
  return BENCHMARKS.find((benchmark) => benchmark.name === plain)?.metric ?? 'accuracy';
}

/** Tasks of a plug-in file are not read here; what they measure has to be said with the gate. */
function kindMetrics(name: string, task: string): KnownMetric[] | null {
  const kind = lookUpKind(task);
  return kind && [{ key: `test/${name}/${kind.metric}`, higherIsBetter: kind.higherIsBetter }];
}

function shownKeys(named: NamedEvaluator): string {
  return (
    knownMetrics(named)
      ?.map(({ key }) => key)
      .join(', ') ?? `test/${named.name}/… (its own metrics)`
  );
}

function refusal(message: string): DomainError {
  return new DomainError('bad-config', message);
}
