import { DomainError } from '../../core/errors';
import type { Benchmark } from '../../evaluation/benchmarks/benchmark';
import { GENERATION } from '../../evaluation/benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import { makeExampleId } from '../../evaluation/example';
import { KINDS } from '../../evaluation/kinds';
import type { Kind, KindQuestions } from '../../evaluation/kinds/kind';
import { messageText } from '../../evaluation/runner/message-text';
import type { BenchmarkEnvironmentOptions } from './benchmark-environments';
import { benchmarkEnvironments } from './benchmark-environments';
import type { EnvironmentDataset } from './environment-dataset';

/** A task that measures sample by sample rewards rollouts by the same values. Where lower is better they are negated. */
export function taskEnvironments(
  kind: Kind,
  options: BenchmarkEnvironmentOptions,
  read: ReadBenchmarkRows,
): Promise<EnvironmentDataset> {
  const { name, version, description, data, higherIsBetter, questions } = kind;
  if (!questions) throw drawsNothing(kind);
  const benchmark: Benchmark = {
    ...{ name, version, description, data },
    comparableWith: 'Nothing published.',
    orderSeed: null,
    toExample: (row, index) => exampleOf(name, questions.ask(row, index)),
    generation: GENERATION,
    grader: {
      name,
      version: String(version),
      grade: (completion, { target }) => ({
        value: questions.worth(target ?? '', completion),
        answer: completion,
      }),
    },
  };
  const own = { ...options, ...(!higherIsBetter && { rewardOf: ({ value }: { value: number }) => -value }) };
  return benchmarkEnvironments(benchmark, own, read);
}

function exampleOf(name: string, asked: ReturnType<KindQuestions['ask']>) {
  if (asked === null) return null;
  const { messages, gold: target } = asked;
  return { id: makeExampleId(name, messages.map(messageText).join('\n')), messages, target };
}

function drawsNothing({ name, kind }: Kind): DomainError {
  const drawn = KINDS.filter(({ questions }) => questions).map((known) => known.name);
  return new DomainError(
    'bad-config',
    `environment.task: "${name}" is a task by likelihood (${kind}), in which the model writes nothing that could be rewarded. ` +
      `Name one made with generation, e.g. ${drawn.join(', ')}.`,
  );
}
