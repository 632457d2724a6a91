import { DomainError } from '../../core/errors';
import type { Candidate } from './candidate';
import { remedyFor } from './evaluate-remedy';

/** A benchmark's folder name on either side; they differ only where two folders were named one by one. */
export interface SharedBenchmark {
  readonly inA: string;
  readonly inB: string;
  /** The loss of a training run's nll evaluator, of which each side has what every example adds. */
  readonly isLikelihood: boolean;
}

export interface SharedBenchmarks {
  readonly benchmarks: readonly SharedBenchmark[];
  readonly warnings: readonly string[];
}

/** Benchmarks and losses finished on both sides; those that were asked for by name must be among them. */
export async function sharedBenchmarks(
  a: Candidate,
  b: Candidate,
  wanted: readonly string[] | undefined,
): Promise<SharedBenchmarks> {
  const benchmarks = matchNames(a, b).filter(({ inA }) => wanted === undefined || isWanted(inA, wanted));
  const missing = (wanted ?? []).filter((name) => !benchmarks.some(({ inA }) => isWanted(inA, [name])));
  if (benchmarks.length > 0 && missing.length === 0) {
    return { benchmarks, warnings: wanted === undefined ? leftOut(a, b) : [] };
  }
  const what =
    missing.length > 0 ? `${missing.join(', ')} on both sides` : 'no finished benchmark or loss in common';
  const parts = [
    `${a.place.label} and ${b.place.label} have ${missing.length > 0 ? 'not ' : ''}${what}.`,
    `${contentsOf(a)}; ${contentsOf(b)}.`,
    ...[a, b].flatMap(reasonsIn),
    await remedyFor(a, b, missing),
  ];
  throw new DomainError('bad-config', parts.join(' '));
}

/** Whose they are, where a name may be of both sides. */
function reasonsIn({ place, reasons }: Candidate): string[] {
  return [...reasons.values()].map((reason) => `${place.label}: ${reason}`);
}

function matchNames(a: Candidate, b: Candidate): SharedBenchmark[] {
  if (a.place.benchmark !== null && b.place.benchmark !== null) {
    const only = (kind: 'finished' | 'likelihoods', isLikelihood: boolean) => {
      const [inA, inB] = [a[kind][0], b[kind][0]];
      return inA === undefined || inB === undefined ? [] : [{ inA, inB, isLikelihood }];
    };
    return [...only('finished', false), ...only('likelihoods', true)];
  }
  const both = (kind: 'finished' | 'likelihoods', isLikelihood: boolean) =>
    a[kind].filter((name) => b[kind].includes(name)).map((name) => ({ inA: name, inB: name, isLikelihood }));
  return [...both('finished', false), ...both('likelihoods', true)];
}

/** Names are written with underscores; hyphens are accepted. */
function isWanted(name: string, wanted: readonly string[]): boolean {
  return wanted.some((text) => text === name || text.replaceAll('-', '_') === name);
}

function leftOut(a: Candidate, b: Candidate): string[] {
  return [...onlyIn(a, b), ...onlyIn(b, a), ...unfinishedIn(a), ...unfinishedIn(b)];
}

function onlyIn(one: Candidate, other: Candidate): string[] {
  if (one.place.benchmark !== null || other.place.benchmark !== null) return [];
  const there = [...other.finished, ...other.unfinished, ...other.likelihoods];
  const names = [...one.finished, ...one.likelihoods].filter((name) => !there.includes(name));
  return names.length === 0
    ? []
    : [`${one.place.label} has ${names.join(', ')}, which ${other.place.label} has not: not compared.`];
}

function unfinishedIn(side: Candidate): string[] {
  const { place, unfinished } = side;
  if (unfinished.length === 0) return [];
  const text = `${place.label} has not finished ${unfinished.join(', ')} (no result.json): not compared.`;
  return [[text, ...side.reasons.values()].join(' ')];
}

function contentsOf({ place, finished, unfinished, likelihoods }: Candidate): string {
  const parts = [
    ...(finished.length > 0 ? [finished.join(', ')] : []),
    ...(likelihoods.length > 0 ? [`${likelihoods.join(', ')} (loss)`] : []),
    ...(unfinished.length > 0 ? [`${unfinished.join(', ')} (not finished)`] : []),
  ];
  return `${place.folder} has ${parts.length === 0 ? 'none' : parts.join(', ')}`;
}
