import { dirname, resolve } from 'node:path';
import { DomainError } from '../../core/errors';
import type { MessageEnvironment } from '../../core/environment';
import { ownCopy } from '../../core/own-copy';
import type { Example } from '../example';
import { makeExampleId } from '../example';
import type { Grader } from '../graders/grader';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import type { BenchmarkInput, ExampleInput } from './benchmark-input';
import { isBenchmarkInput, isEnvironment, isExampleInput, problemOf } from './benchmark-input';
import { judgedGrader } from '../judges/judged-grader';
import { methodOf, modelGradedMetric, WrittenMethodShape } from '../judges/methods/written-method';
import { declarePythonGrader } from '../python/python-grader';
import { faultOfJson } from '../json-fault';
import { graderFromFunction } from './grader-function';
import { ownRows } from './own-rows';

interface InputOrigin {
  readonly name: string;
  /** The file it came from, and its hash; null for one registered by code. */
  readonly file: string | null;
  readonly hash: string | null;
}

const NAME = /^[a-z0-9][a-z0-9_]{0,63}$/i;

/** A benchmark of a plug-in or of code, checked and completed. */
export function completeBenchmark(input: unknown, origin: InputOrigin): Benchmark {
  const { name } = origin;
  if (!NAME.test(name)) throw refusal(origin, 'needs a name of letters, digits and "_", at most 64');
  const problem = problemOf(input);
  if (problem !== null || !isBenchmarkInput(input)) throw refusal(origin, problem ?? 'is no benchmark');
  const { data } = input;
  return {
    name,
    ...describe(name, input),
    data: dataOf(data, origin),
    toExample: (row, index) => completeExample(input.toExample(row, index), origin),
    generation: { ...GENERATION, ...input.generation },
    grader: graderOf(input, origin),
    ...(input.environment && {
      environment: (example: Example) => environmentOf(input.environment?.(ownCopy(example)), origin),
    }),
  };
}

type Description = Pick<Benchmark, 'version' | 'description' | 'comparableWith' | 'orderSeed'> &
  Partial<Pick<Benchmark, 'systemPrompt' | 'metric'>>;

function describe(name: string, input: BenchmarkInput): Description {
  const { systemPrompt, metric = judgedMetric(input), orderSeed = null, version = 1 } = input;
  const { description = `Benchmark "${name}"`, comparableWith = 'Nothing published.' } = input;
  return {
    version,
    description,
    comparableWith,
    orderSeed,
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(metric !== undefined && { metric }),
  };
}

function judgedMetric({ judge }: BenchmarkInput): string | undefined {
  return judge && modelGradedMetric(WrittenMethodShape.parse(judge).method);
}

function dataOf(data: BenchmarkInput['data'], { name, file }: InputOrigin): Benchmark['data'] {
  if ('path' in data) return { path: besides(file, data.path) };
  if (!('rows' in data)) return data;
  return { rows: () => ownRows(`${placeOf(file)}: benchmark "${name}"`, () => data.rows()) };
}

function besides(file: string | null, path: string): string {
  return file === null ? resolve(path) : resolve(dirname(file), path);
}

function completeExample(given: unknown, origin: InputOrigin): Example | null {
  if (given === null || given === undefined) return null;
  if (!isExampleInput(given)) {
    throw refusal(origin, 'toExample: must return { prompt, target } or { messages, target }, or null');
  }
  const { row, cluster, target = null } = given;
  const fault =
    faultOfJson('messages', given.messages) ?? faultOfJson('row', row) ?? faultOfJson('cluster', cluster);
  if (fault !== null) throw refusal(origin, `toExample: ${fault}`);
  return {
    ...conversationOf(given, origin.name),
    target,
    ...(row && { row }),
    ...(cluster !== undefined && { cluster }),
  };
}

function conversationOf(
  { prompt, messages = [{ role: 'user', content: prompt ?? '' }], id }: ExampleInput,
  benchmark: string,
): Pick<Example, 'id' | 'messages'> {
  return { id: id ?? makeExampleId(benchmark, prompt ?? JSON.stringify(messages)), messages };
}

function graderOf(input: BenchmarkInput, origin: InputOrigin): Grader {
  const { grader, judge } = input;
  const { name, hash } = origin;
  const stamp = stampFor(input, origin);
  if (judge) return judgedBy(judge, { name, stamp });
  if (typeof grader === 'function')
    return graderFromFunction({
      ...{ name, version: stamp },
      judge: (completion, example) => grader(completion, ownCopy(example)),
    });
  if (grader && 'python' in grader && !('grade' in grader)) return declarePythonGrader(grader, stamp);
  if (!grader) return { name, version: stamp, grade: () => judgedElsewhere(name) };
  // Whoever wrote the version did not write what is around it in the file.
  return hash === null ? grader : stamped(grader, stamp);
}

function stampFor({ version = 1 }: BenchmarkInput, { name, hash }: InputOrigin): string {
  return `${name}@${hash?.slice(0, 16) ?? String(version)}`;
}

/** The version holds what is asked, so that another rubric is another grader also where the file says nothing of itself. */
function judgedBy(
  judge: unknown,
  { name, stamp }: { readonly name: string; readonly stamp: string },
): Grader {
  const method = methodOf(WrittenMethodShape.parse(judge));
  return judgedGrader({ ...method, name, version: `${method.version} ${stamp}` });
}

/** One made by a class has its methods there. */
function stamped(grader: Grader, stamp: string): Grader {
  return {
    ...grader,
    ...{ name: grader.name, version: `${grader.version} ${stamp}` },
    grade: (completion, example) => grader.grade(completion, ownCopy(example)),
    ...(grader.summarize && { summarize: grader.summarize.bind(grader) }),
    ...(grader.total && { total: grader.total.bind(grader) }),
  };
}

function judgedElsewhere(name: string): never {
  throw new DomainError('bad-plugin', `Benchmark "${name}" is judged by its environment, not by a grader.`);
}

function environmentOf(given: unknown, origin: InputOrigin): MessageEnvironment {
  if (isEnvironment(given)) return given;
  throw refusal(origin, 'environment: must return an object with initialObservation and step');
}

function refusal({ name, file }: InputOrigin, what: string): DomainError {
  return new DomainError(
    'bad-plugin',
    `${placeOf(file)}: benchmark "${name}" ${what}. See examples/custom-benchmark for one that works.`,
  );
}

function placeOf(file: string | null): string {
  return file === null ? 'registerBenchmark' : `plugins: ${file}`;
}
