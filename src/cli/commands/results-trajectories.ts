import path from 'node:path';
import { DomainError } from '../../core/errors';
import { readExampleScores } from '../../evaluation/compare/example-scores';
import { resultPage } from '../../evaluation/pages/result-page';
import { listBenchmarks, locateResults } from '../../stores/eval-places';
import type { StoredTrajectory } from '../../stores/eval-store';
import { benchmarkFolder, streamTrajectories } from '../../stores/eval-store';
import { printTrajectory } from '../../stores/eval-trajectory-text';
import { escapeControls } from '../escape-controls';
import type { Output } from '../output';
import { print, writeWholeText } from '../whole-output';

export interface TrajectoryFlags {
  readonly correct?: boolean;
  readonly incorrect?: boolean;
  readonly errors?: boolean;
  readonly truncated?: boolean;
  readonly unparsed?: boolean;
  readonly flipped?: string;
  readonly id?: string;
  readonly limit?: number;
  readonly characters?: number;
  readonly html?: string;
}

export interface TrajectoryRequest {
  readonly store: string;
  readonly results: string;
  readonly benchmark: string | undefined;
  readonly flags: TrajectoryFlags;
}

interface Chosen {
  readonly folder: string;
  readonly benchmark: string;
}

type Accepts = (trajectory: StoredTrajectory) => boolean;

const SHOWN_TO_PEOPLE = 20;
const SHOWN_ON_A_PAGE = 4;

/** Trajectories as they are read: any number of them fits in memory. */
export async function showTrajectories(output: Output, request: TrajectoryRequest): Promise<void> {
  const { flags } = request;
  const chosen = await chooseBenchmark(request);
  const accepts = await acceptance(chosen, request);
  if (flags.html !== undefined) return writePage(output, chosen, { flags, accepts, html: flags.html });
  const limit = flags.limit ?? (output.isJson ? Infinity : SHOWN_TO_PEOPLE);
  const select = () => selectTrajectories(chosen, { flags, accepts });
  const found = limit === Infinity ? select() : differentFirst(select);
  if (output.isJson) await writeDocument(chosen, found, limit);
  else if (printAll(output, found, { limit, maxCharacters: flags.characters ?? 500 }) === 0)
    output.line(noneText(chosen, flags));
}

/** Why there is nothing to see: of how many none was chosen. */
function noneText({ folder, benchmark }: Chosen, flags: TrajectoryFlags): string {
  let count = 0;
  for (const _ of streamTrajectories(benchmarkFolder(folder, benchmark))) count++;
  const kinds = (['correct', 'incorrect', 'errors', 'truncated', 'unparsed'] as const).filter(
    (kind) => flags[kind],
  );
  const asked = [
    ...kinds.map((kind) => `--${kind}`),
    ...(['flipped', 'id'] as const).flatMap((kind) =>
      flags[kind] === undefined ? [] : [`--${kind} ${escapeControls(flags[kind])}`],
    ),
  ].join(' ');
  const of = `the ${count} trajectories of ${benchmark}`;
  return count === 0 || asked === '' ? `No trajectories of ${benchmark} yet.` : `None of ${of} for ${asked}.`;
}

async function chooseBenchmark({ store, results, benchmark }: TrajectoryRequest): Promise<Chosen> {
  const { folder, benchmark: only } = await locateResults(results, store);
  const { finished, unfinished } = await listBenchmarks(folder);
  const known = [...finished, ...unfinished].filter((name) => only === null || name === only);
  const wanted = benchmark?.replaceAll('-', '_');
  const matching = known.filter((name) => benchmark === undefined || name === benchmark || name === wanted);
  const [first] = matching;
  if (first !== undefined && matching.length === 1) return { folder, benchmark: first };
  const names = known.length === 0 ? 'none' : known.join(', ');
  throw new DomainError(
    'bad-config',
    benchmark === undefined && known.length > 1
      ? `${folder} has several benchmarks: ${names}. Name one.`
      : `${folder} has no ${benchmark === undefined ? 'benchmark' : `benchmark ${benchmark}`}. It has: ${names}.`,
  );
}

async function acceptance(chosen: Chosen, { store, flags }: TrajectoryRequest): Promise<Accepts> {
  const { id, flipped } = flags;
  const isFlipped = flipped === undefined ? null : await flippedIds(chosen, { store, other: flipped });
  return ({ example_id }) =>
    (id === undefined || example_id === id) && (isFlipped === null || isFlipped.has(example_id));
}

async function flippedIds(
  { folder, benchmark }: Chosen,
  { store, other }: { readonly store: string; readonly other: string },
): Promise<Set<string>> {
  const place = await locateResults(other, store);
  const options = { completedOnly: false };
  const { scores } = await readExampleScores(folder, benchmark, options);
  const others = await readExampleScores(place.folder, place.benchmark ?? benchmark, options);
  const shared = [...scores].filter(([id]) => others.scores.has(id));
  if (shared.length === 0) {
    throw new DomainError(
      'bad-config',
      `${benchmark}: ${place.folder} shares no example with ${folder}. Evaluate both on the same data.`,
    );
  }
  return new Set(shared.filter(([id, score]) => others.scores.get(id) !== score).map(([id]) => id));
}

function* selectTrajectories(
  { folder, benchmark }: Chosen,
  { flags, accepts }: { readonly flags: TrajectoryFlags; readonly accepts: Accepts },
): Generator<StoredTrajectory> {
  const filter = {
    correctOnly: flags.correct ?? false,
    incorrectOnly: flags.incorrect ?? false,
    errorsOnly: flags.errors ?? false,
    truncatedOnly: flags.truncated ?? false,
    unparsedOnly: flags.unparsed ?? false,
  };
  for (const trajectory of streamTrajectories(benchmarkFolder(folder, benchmark), filter)) {
    if (accepts(trajectory)) yield trajectory;
  }
}

/** One of each example before the further samples of any; twice through the file, as far as it is asked for. */
function* differentFirst(select: () => Iterable<StoredTrajectory>): Generator<StoredTrajectory> {
  yield* firstsOf(select());
  const seen = new Set<string>();
  for (const trajectory of select()) {
    if (seen.has(trajectory.example_id)) yield trajectory;
    seen.add(trajectory.example_id);
  }
}

function* firstsOf(trajectories: Iterable<StoredTrajectory>): Generator<StoredTrajectory> {
  const seen = new Set<string>();
  for (const trajectory of trajectories) {
    if (seen.has(trajectory.example_id)) continue;
    seen.add(trajectory.example_id);
    yield trajectory;
  }
}

interface PageRequest {
  readonly flags: TrajectoryFlags;
  readonly accepts: Accepts;
  readonly html: string;
}

async function writePage(output: Output, chosen: Chosen, { html, ...asked }: PageRequest): Promise<void> {
  const { folder, benchmark } = chosen;
  const file = path.resolve(html);
  const page = resultPage({
    title: `${path.basename(folder)}, ${benchmark}`,
    trajectories: selectTrajectories(chosen, asked),
    limit: asked.flags.limit ?? SHOWN_ON_A_PAGE,
  });
  await writeWholeText(file, page, { option: '--html' });
  output.document({ dir: folder, benchmark, file });
  output.line(`Written: ${file}`);
}

interface PrintLimits {
  readonly limit: number;
  readonly maxCharacters: number;
}

/** Gives back how many were shown. */
function printAll(
  output: Output,
  trajectories: Iterable<StoredTrajectory>,
  { limit, maxCharacters }: PrintLimits,
): number {
  const write = (line: string) => {
    output.line(line);
  };
  let count = 0;
  for (const trajectory of trajectories) {
    if (count === limit) {
      output.line(`More than ${limit}: --limit N shows N.`);
      return count;
    }
    printTrajectory(trajectory, { maxCharacters, write });
    count++;
  }
  if (count > 0) output.line(count === 1 ? '1 trajectory.' : `${count} trajectories.`);
  return count;
}

/** The document piece by piece, at the reader's pace. */
async function writeDocument(
  { folder, benchmark }: Chosen,
  trajectories: Iterable<StoredTrajectory>,
  limit: number,
): Promise<void> {
  const head = JSON.stringify({ dir: folder, benchmark }).slice(0, -1);
  await print(`${head},"trajectories":[`);
  let count = 0;
  for (const trajectory of trajectories) {
    if (count === limit) break;
    await print(`${count++ === 0 ? '' : ','}\n${JSON.stringify(trajectory)}`);
  }
  await print('\n]}\n');
}
