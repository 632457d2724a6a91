import { basename, join } from 'node:path';
import type { BenchmarkPlace, BenchmarkRequest } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import type { TakenAnswers } from '../../core/result-origin';
import { readJsonLines } from '../../stores/json-lines';
import { createWholeFile } from '../../stores/whole-file';
import type { Benchmark } from '../benchmarks/benchmark';
import type { Example } from '../example';
import type { BenchmarkPlan } from './benchmark-plan';
import { examplesPath, findForeignPlan, shardFolder } from './benchmark-plan';
import { FrozenExamples } from './frozen-examples';
import { differencesText } from './option-differences';
import type { PlannedWork } from './planned-work';
import { askingDifferences } from './refuse-other-identity';
import type { SampleRow } from './shard-rows';
import { digestsOf, unitsOf } from './shard-task';

type CutPlan = Pick<PlannedWork, 'base' | 'identity' | 'numSamples' | 'examplesFile'> &
  Pick<BenchmarkPlan, 'shards'>;

/** A sample of an example, and the shard of the other eval run that may have its answer. */
interface WantedAnswer {
  readonly key: string;
  readonly from: number;
}

/**
 * Writes the answers that another eval run has to the same prompts into the journals of a benchmark that is planned and not
 * begun: same weights, prompt format, sampling parameters and seed. null where none were asked for; refused where the other run
 * asked another model or otherwise.
 */
export async function takeAnswers(
  request: BenchmarkRequest,
  plan: CutPlan,
  benchmark: Benchmark,
): Promise<TakenAnswers | null> {
  const { answersFrom: folder } = request;
  if (folder === undefined) return null;
  const source = { run: basename(folder), folder, benchmark: benchmark.name };
  const from = await findSource(source, request);
  refuseOtherAnswers(source, from, plan);
  const given = await givenExamples(source, from, benchmark);
  let taken = 0;
  for (const [shard, part] of plan.shards.entries()) {
    const examples = await FrozenExamples.open(examplesPath(request, plan), part);
    const wanted = wantedAnswers(plan, { benchmark, examples, given });
    const rows = await rowsOf(source, wanted, benchmark);
    taken += new Set(rows.map(unitName)).size;
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    if (rows.length > 0) await createWholeFile(join(shardFolder(request, shard), 'samples.jsonl'), lines);
  }
  return { folder, taken };
}

async function findSource(source: BenchmarkPlace, { folder }: BenchmarkRequest): Promise<BenchmarkPlan> {
  if (source.folder === folder) {
    throw new DomainError('bad-config', `--answers-from ${source.run} is the eval run itself. Give another.`);
  }
  const plan = await findForeignPlan(source);
  if (plan) return plan;
  throw new DomainError(
    'bad-config',
    `--answers-from: ${source.folder} has no journal of ${source.benchmark}. Name an eval run of it whose journal is still there.`,
  );
}

function refuseOtherAnswers({ run, benchmark }: BenchmarkPlace, from: BenchmarkPlan, plan: CutPlan): void {
  if (from.base === plan.base) return;
  // How many samples there are decides no answer.
  const differences = askingDifferences(from, plan).filter(({ what }) => what !== '--samples');
  const told = differences.length > 0 ? differencesText(differences) : 'other weights';
  throw new DomainError(
    'refused',
    `--answers-from: ${benchmark} of ${run} was asked with ${told}. Ask as it was asked, or leave --answers-from out.`,
  );
}

/** What the other run asked, by the digests of its examples: how often it says that it asked each takes no room. */
interface GivenExamples {
  readonly numSamples: number;
  /** The shard that each lies in. */
  readonly shards: ReadonlyMap<string, number>;
}

async function givenExamples(
  source: BenchmarkPlace,
  from: BenchmarkPlan,
  benchmark: Benchmark,
): Promise<GivenExamples> {
  const { base, numSamples } = from;
  const shards = new Map<string, number>();
  // Turns after the first are told by keys of the whole example there.
  if (benchmark.environment && !from.isKeyedByPrompt) return { numSamples, shards };
  for (const [shard, part] of from.shards.entries()) {
    const examples = await FrozenExamples.open(examplesPath(source, from), part);
    for (const digest of digestsOf({ base, isKeyedByPrompt: true }, examples)) shards.set(digest, shard);
  }
  return { numSamples, shards };
}

interface WantedExamples {
  readonly benchmark: Benchmark;
  readonly examples: Iterable<Example>;
  readonly given: GivenExamples;
}

/** By the names of their units. */
function wantedAnswers(
  { base, numSamples }: CutPlan,
  { benchmark: { grader }, examples, given }: WantedExamples,
): Map<string, WantedAnswer> {
  const wanted = new Map<string, WantedAnswer>();
  const subject = { base, numSamples, grader, isKeyedByPrompt: true as const };
  for (const { example, sampleIndex, keys } of unitsOf(subject, examples)) {
    const from = sampleIndex < given.numSamples ? given.shards.get(keys.example) : undefined;
    const name = unitName({ example_id: example.id, sample_index: sampleIndex });
    if (from !== undefined) wanted.set(name, { key: keys.sample, from });
  }
  return wanted;
}

async function rowsOf(
  source: BenchmarkPlace,
  wanted: ReadonlyMap<string, WantedAnswer>,
  benchmark: Benchmark,
): Promise<SampleRow[]> {
  const rows: SampleRow[] = [];
  for (const shard of new Set([...wanted.values()].map(({ from }) => from))) {
    for (const row of await readJsonLines<SampleRow>(join(shardFolder(source, shard), 'samples.jsonl'))) {
      const key = wanted.get(unitName(row))?.key;
      // What a turn of several depends on is told by its own key.
      if (key !== undefined) rows.push(benchmark.environment ? row : { ...row, key });
    }
  }
  return rows;
}

function unitName({ example_id, sample_index }: Pick<SampleRow, 'example_id' | 'sample_index'>): string {
  return `${sample_index} ${example_id}`;
}
