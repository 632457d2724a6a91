import { DomainError } from '../../core/errors';
import { nearestNames } from '../../core/nearest-names';
import { ownValue } from '../../core/own-value';
import { aime2025 } from './aime-2025';
import { aime2026 } from './aime-2026';
import { arenaHard, arenaHardV2 } from './arena-hard';
import { arithmetic } from './arithmetic';
import type { Benchmark } from './benchmark';
import type { BenchmarkInput } from './benchmark-input';
import { bfcl, BFCL_PARTS, bfclTools } from './bfcl';
import { ceval } from './ceval';
import { gpqa } from './gpqa';
import { gsm8k } from './gsm8k';
import { hmmtFeb2025 } from './hmmt-feb-2025';
import { hmmtNov2025 } from './hmmt-nov-2025';
import { humaneval } from './humaneval';
import { ifeval } from './ifeval';
import { livecodebench } from './livecodebench';
import { livecodebenchFull } from './livecodebench-full';
import { longbench } from './longbench';
import { math500 } from './math500';
import { mbpp } from './mbpp';
import { mbppFull } from './mbpp-full';
import { mmluPro } from './mmlu-pro';
import { mmluRedux } from './mmlu-redux';
import { addBenchmark, registeredBenchmarks } from './registered-benchmarks';
import { supergpqa } from './supergpqa';

export const BENCHMARKS: readonly Benchmark[] = [
  arithmetic,
  gsm8k,
  math500,
  aime2025,
  aime2026,
  hmmtFeb2025,
  hmmtNov2025,
  mmluPro,
  mmluRedux,
  gpqa,
  supergpqa,
  ceval,
  ifeval,
  longbench,
  humaneval,
  mbpp,
  mbppFull,
  livecodebench,
  livecodebenchFull,
  bfcl,
  bfclTools,
  ...BFCL_PARTS,
  arenaHard,
  arenaHardV2,
];

/** Names of the field that mean one of ours. */
const ALIASES: Readonly<Record<string, string>> = { aime: 'aime_2025' };

/** Makes a benchmark from the `options` of the config. */
export type BenchmarkBuilder = (options: Readonly<Record<string, unknown>>) => Benchmark;

/** The benchmarks that a plug-in file brings. */
export interface PluginBenchmarks {
  readonly file: string | null;
  readonly benchmarks: ReadonlyMap<string, BenchmarkBuilder>;
}

const NO_BENCHMARKS: PluginBenchmarks = { file: null, benchmarks: new Map() };

/**
 * By name, in the catalogue, among those registered by code and those of a plug-in file. Names are written with
 * underscores; hyphens are accepted.
 */
export function findBenchmark(
  name: string,
  plugins: PluginBenchmarks = NO_BENCHMARKS,
  options: Readonly<Record<string, unknown>> = {},
): Benchmark {
  const wanted = plainName(name);
  const benchmark = ownBenchmark(name) ?? plugins.benchmarks.get(wanted)?.(options);
  if (benchmark) return benchmark;
  const names = [...knownHere().map((each) => each.name), ...plugins.benchmarks.keys()];
  const remedy =
    plugins.file === null
      ? ' One of a plug-in file needs that file: "plugins" in the config of a run, --plugins FILE of other commands.'
      : '';
  throw new DomainError(
    'unknown-benchmark',
    `Unknown benchmark "${name}". Nearest: ${nearestNames(wanted, names, 2).join(' or ')}. Known: ${names.join(', ')}.${remedy}`,
  );
}

/** One of the catalogue, or registered by code; null where only a plug-in file can have the name. */
export function ownBenchmark(name: string): Benchmark | null {
  const wanted = plainName(name);
  return knownHere().find((each) => each.name === wanted) ?? null;
}

function knownHere(): readonly Benchmark[] {
  return [...BENCHMARKS, ...registeredBenchmarks()];
}

function plainName(name: string): string {
  const plain = name.replaceAll('-', '_');
  return ownValue(ALIASES, plain) ?? plain;
}

/** Adds a benchmark for evaluations in this process; workers elsewhere need it in a plug-in file. */
export function registerBenchmark(input: BenchmarkInput & { readonly name: string }): Benchmark {
  return addBenchmark(input, BENCHMARKS);
}
