import { hash } from 'node:crypto';
import type { WaitingReasons } from '../../core/concurrency/waiting-reasons';
import type { Completer } from '../../core/completion';
import type { ShardCounts } from '../../core/benchmark-run';
import type { MessageEnvironment } from '../../core/environment';
import type { GenerationDefaults } from '../benchmarks/benchmark';
import type { Example } from '../example';
import type { Grader } from '../graders/grader';
import type { Permits } from './permits';

/** What is asked of a model, and how its answers are judged. */
export interface ExampleSubject {
  readonly grader: Grader;
  /** For several turns; default: one, judged by the grader. */
  readonly environment?: (example: Example) => MessageEnvironment;
  readonly systemPrompt?: string;
  readonly generation: GenerationDefaults;
  /** From 1. */
  readonly numSamples: number;
  /** Digest of everything an answer depends on beside its example: weights, prompt format, sampling parameters. */
  readonly base: string;
  /** Answers are found again by what was asked alone, whatever the reference is. */
  readonly isKeyedByPrompt?: true;
  /** How often its answers were graded again; default 0. */
  readonly gradingCount?: number;
}

/** Read one after another: there may be more than memory has room for. */
type Examples = Iterable<Example> & { readonly length: number };

export interface ShardTask {
  readonly subject: ExampleSubject;
  readonly examples: Examples;
  /** Holds `samples.jsonl` and `grades.jsonl`. */
  readonly folder: string;
  /** Rises with every attempt that may write there. */
  readonly epoch: number;
  readonly completer: Completer;
  readonly permits: Permits;
  /** Place among shards that share the permits; lower ones go first. */
  readonly rank: number;
  readonly concurrency: number;
  /** Bounds the time an example takes, waiting for capacity left out. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** After each sample that is done. */
  readonly onProgress: (counts: ShardCounts) => void;
  /** Where it is told that rows wait for room. */
  readonly waits?: Pick<WaitingReasons, 'part'>;
}

/** One example, sampled once. */
export interface ExampleUnit {
  readonly example: Example;
  readonly sampleIndex: number;
  readonly keys: UnitKeys;
}

/** What the rows of a unit are found again by. */
interface UnitKeys {
  /** The same of all samples of an example. */
  readonly example: string;
  /** Of the first completion where the example alone decides the prompt; else what such keys are made from. */
  readonly sample: string;
  readonly grade: string;
}

type KeyedSubject = Pick<
  ExampleSubject,
  'base' | 'grader' | 'numSamples' | 'isKeyedByPrompt' | 'gradingCount'
>;

/** Samples of an example one after another, examples in their order. */
export function* unitsOf(subject: KeyedSubject, examples: Iterable<Example>): Generator<ExampleUnit> {
  for (const example of examples) {
    const line = JSON.stringify(example);
    const digest = digestOf(subject, example);
    const grade = judgeOf(subject, line);
    for (let sampleIndex = 0; sampleIndex < subject.numSamples; sampleIndex++) {
      const sample = `${digest}.${sampleIndex}`;
      yield { example, sampleIndex, keys: { example: digest, sample, grade: `${sample}.${grade}` } };
    }
  }
}

type AskedSubject = Pick<KeyedSubject, 'base' | 'isKeyedByPrompt'>;

/** What the samples of each example are found again by, but for their number. */
export function* digestsOf(subject: AskedSubject, examples: Iterable<Example>): Generator<string> {
  for (const example of examples) yield digestOf(subject, example);
}

function digestOf({ base, isKeyedByPrompt }: AskedSubject, example: Example): string {
  return textDigest(`${base}\n${isKeyedByPrompt ? promptLine(example) : JSON.stringify(example)}`);
}

/** What an answer depends on: seeds follow from the id. */
export function promptLine({ id, messages, tools }: Example): string {
  return JSON.stringify({ id, messages, tools });
}

/** What a judgement depends on beside the answer. */
function judgeOf({ grader, gradingCount = 0, isKeyedByPrompt }: KeyedSubject, line: string): string {
  const parts = [
    grader.version,
    ...(isKeyedByPrompt ? [line] : []),
    ...(gradingCount > 0 ? [gradingCount] : []),
  ];
  return shortDigest(parts.join('\n'));
}

/** Of a text, in 32 hex digits. */
export function textDigest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}

function shortDigest(text: string): string {
  return textDigest(text).slice(0, 8);
}
