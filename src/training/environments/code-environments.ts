import { setTimeout as delay } from 'node:timers/promises';
import { DomainError } from '../../core/errors';
import type { Benchmark } from '../../evaluation/benchmarks/benchmark';
import { GENERATION } from '../../evaluation/benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import { humanevalQuestion } from '../../evaluation/benchmarks/humaneval';
import { mbppQuestion } from '../../evaluation/benchmarks/questions/mbpp-tasks';
import { livecodebenchQuestion } from '../../evaluation/benchmarks/questions/livecodebench-tasks';
import { fieldsOf } from '../../evaluation/benchmarks/questions/row-parts';
import type { Example } from '../../evaluation/example';
import { makeExampleId } from '../../evaluation/example';
import { bareCodeTests, codeTests, testFormOf } from '../../evaluation/graders/code/code-tests';
import { findCodeBlock } from '../../evaluation/graders/code/extract-code';
import { fromRows } from '../../evaluation/graders/from-rows';
import type { Grader, Score } from '../../evaluation/graders/grader';
import { assertionsOf } from '../../evaluation/graders/code/mbpp';
import { lacking, textField } from '../../evaluation/graders/row-fields';
import type { Row } from '../../evaluation/graders/row-grader';
import { processSandboxes } from '../../sandboxes/process-sandboxes';
import type { BenchmarkEnvironmentOptions } from './benchmark-environments';
import { benchmarkEnvironments } from './benchmark-environments';
import type { EnvironmentDataset } from './environment-dataset';
import { requireNamed, requireTests, withStarter, withVerlTests } from './own-code-row';
import { conversationIn, isSaid, requireAsked, withoutKeys } from './own-row';
import { ownRowsOr } from './own-rows';

export interface CodeOptions extends Omit<BenchmarkEnvironmentOptions, 'split'> {
  /** Rows of one's own in place of the training tasks of MBPP. */
  readonly path?: string | undefined;
  /** Fields of those rows that say nothing to the model. */
  readonly ignoreKeys?: readonly string[] | undefined;
  /** `all`: 1 when every test passes. `fraction`: the share that passes, a reward for coming closer. */
  readonly reward: 'all' | 'fraction';
  /** Where it is optional, a reply without one is code as a whole. */
  readonly codeBlock: 'required' | 'optional';
}

const ROW_FIELDS = [
  ...['test_list', 'test_imports', 'test_setup_code'],
  ...['prompt', 'entry_point', 'test'],
  ...['public_test_cases', 'private_test_cases', 'input_output', 'metadata'],
];
/** Programs that answer, as MBPP has them. */
const SOLUTION = ['code'];
const QUESTION = ['prompt', 'text', 'problem', 'question_content', 'question'];

/**
 * Programs that are run against tests in a sandbox. A reply without a code block is in the wrong form. Refused where there is no
 * sandbox; one that is lost is tried again, and never judged.
 */
export async function codeEnvironments(
  { path, ignoreKeys = [], reward, codeBlock, ...options }: CodeOptions,
  read: ReadBenchmarkRows,
): Promise<EnvironmentDataset> {
  await processSandboxes.open();
  const benchmark: Benchmark = {
    name: path === undefined ? 'mbpp_train' : 'code',
    version: 1,
    description: 'Programs with tests to train on',
    comparableWith: 'Nothing published.',
    data: {
      hub: 'google-research-datasets/mbpp',
      revision: '4bb6404fdc6cacfda99d4ac4205087b89d32030c',
      split: 'train',
      configs: ['full'],
    },
    orderSeed: null,
    toExample: path === undefined ? (row) => codeExample(row) : (row) => ownExample(row, ignoreKeys),
    generation: GENERATION,
    grader: patient(fromRows(codeBlock === 'required' ? codeTests : bareCodeTests)),
  };
  const own = {
    ...options,
    split: 'train',
    checkFormat: (completion: string) => codeBlock === 'optional' || findCodeBlock(completion) !== null,
    ...(reward === 'fraction' && { rewardOf: passedFraction }),
  };
  return benchmarkEnvironments(benchmark, own, ownRowsOr(read, path));
}

/** Of one's own nothing is left out without a word. */
function ownExample(given: Row, ignored: readonly string[]): Example {
  const row = withVerlTests(withoutKeys(given, ignored));
  const asked = askedIn(row);
  requireTests(row);
  const form = testFormOf(row);
  const own = conversationIn(row, ignored);
  const read = own
    ? // Its check begins with what was asked.
      [own.field, 'tools', ...(form === 'function' ? ['prompt'] : [])]
    : [...asked, ...(form === 'cases' && asked.length > 0 ? ['starter_code'] : [])];
  requireAsked(row, { asked: read, places: QUESTION, unspoken: SOLUTION });
  const example = codeExample(row, own);
  if (!example.messages.some(({ content }) => isSaid(content)))
    throw lacking([own?.field ?? 'messages'], 'question');
  requireNamed(row, example.messages);
  return example;
}

function askedIn(row: Row): readonly string[] {
  return QUESTION.filter((name) => isSaid(row[name])).slice(0, 1);
}

/** A row's own conversation is asked as it is. */
function codeExample(row: Row, own = conversationIn(row)): Example {
  testFormOf(row);
  const messages = own?.messages ?? [{ role: 'user', content: questionOf(row) }];
  const words = messages.map(({ content }) =>
    typeof content === 'string' ? content : JSON.stringify(content),
  );
  return {
    id: makeExampleId('code', words.join('\n')),
    messages,
    ...(own && own.tools.length > 0 && { tools: own.tools }),
    target: null,
    row: fieldsOf(row, own?.field === 'prompt' ? ROW_FIELDS.filter((name) => name !== 'prompt') : ROW_FIELDS),
  };
}

/** Each form of tests is asked for as its benchmark does. */
function questionOf(row: Row): string {
  const asked = askedIn(row);
  if (asked.length === 0) throw lacking(QUESTION, 'question');
  const task = textField(row, asked);
  switch (testFormOf(row)) {
    case 'assertions':
      return mbppQuestion(task, assertionsOf(row));
    case 'function':
      return humanevalQuestion(task);
    case 'cases':
      return livecodebenchQuestion(task, withStarter(row));
  }
}

function passedFraction({ value, metrics = {} }: Score): number {
  return metrics['tests_passed'] ?? value;
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
const PATIENCE_MS = 600_000;

/** Sandboxes that are lost one after another say something of the machine, which may recover, and nothing of a program. */
function patient(grader: Grader): Grader {
  return {
    ...grader,
    async grade(completion, example) {
      const giveUpAt = performance.now() + PATIENCE_MS;
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
        try {
          return withLimit(await grader.grade(completion, example));
        } catch (error) {
          if (!isLost(error) || performance.now() + waitMs > giveUpAt) throw error;
        }
        await delay(waitMs);
      }
    },
  };
}

function isLost(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'sandbox-lost';
}

/** How many programs exceed a limit is a metric; the explanation names it. */
function withLimit(score: Score): Score {
  const hasExceeded = score.details?.['limit'] !== undefined;
  return { ...score, metrics: { ...score.metrics, limit_exceeded: Number(hasExceeded) } };
}
