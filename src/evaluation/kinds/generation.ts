import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { completionText } from '../evaluators/completion-text';
import { seedOf } from '../digest';
import type { Row } from '../graders/row-grader';
import type { Kind, KindDeclaration, KindSite, PreparedExample, Probe, ScoredSequence } from './kind';
import { promptRoom, reduceScores } from './kind';

/** What is asked, as a conversation or as bare text, and the right answer. */
export interface GenerationItem {
  readonly prompt: string | readonly Message[];
  readonly gold: string;
}

export interface GenerationTask extends KindDeclaration {
  get(row: Row, index: number): GenerationItem | null;
  readonly maxNewTokens: number;
  /** Samples of one prompt stand next to each other, in the order of their prompts; default 1. */
  readonly samplesPerPrompt?: number;
  /** Default 0, which is greedy. */
  readonly temperature?: number;
  readonly topP?: number;
  /** Of the written part alone; default: without white space around it. */
  clean?(text: string): string;
  /** Default: equal to the right answer. */
  check?(gold: string, answer: string): boolean;
  /** For scores between 0 and 1; goes before `check`. */
  score?(gold: string, answer: string): number;
  /** Default `accuracy`. */
  readonly metric?: string;
  /** Default true. */
  readonly higherIsBetter?: boolean;
}

/** The model writes an answer, which is compared with the right one. A prompt that leaves no room counts 0. */
export function generation(task: GenerationTask): Kind {
  const { name, version = 1, description = name, data, metric = 'accuracy', higherIsBetter = true } = task;
  if (!Number.isInteger(task.maxNewTokens) || task.maxNewTokens < 1) {
    throw new DomainError(
      'bad-plugin',
      `Task "${name}": maxNewTokens is ${task.maxNewTokens}. Say how many tokens an answer may have, 1 or more.`,
    );
  }
  return {
    kind: 'generation',
    name,
    version,
    description,
    data,
    metric,
    higherIsBetter,
    prepare(row, index, site) {
      const item = task.get(row, index);
      return item === null ? null : prepareItem(task, item, site);
    },
    questions: {
      ask(row, index) {
        const item = task.get(row, index);
        return item === null ? null : { messages: messagesOf(item), gold: item.gold };
      },
      worth: (gold, text) => valueOf(task, gold, text),
    },
    reduce: reduceScores,
  };
}

function messagesOf({ prompt }: GenerationItem): readonly Message[] {
  return typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt;
}

function prepareItem(task: GenerationTask, item: GenerationItem, site: KindSite): PreparedExample {
  const room = promptRoom(site.contextLength, task.maxNewTokens);
  if (room < 1) {
    throw new DomainError(
      'bad-config',
      `Task "${task.name}": maxNewTokens ${task.maxNewTokens} leaves no room for a prompt in a context of ${site.contextLength}. Lower it.`,
    );
  }
  const sampleCount = task.samplesPerPrompt ?? 1;
  const tokens = promptTokens(item, site);
  const samples = Array.from({ length: tokens.length > room ? 0 : sampleCount }, (_, sample) => sample);
  return {
    sampleCount,
    probes: samples.map((sample) => probeOf(task, tokens, { sample, site, isChat: isChat(item) })),
    judge: (sequences) =>
      sequences.map((sequence) => ({
        value: valueOf(task, item.gold, textOf(sequence, item, site)),
        sequence,
      })),
  };
}

function promptTokens({ prompt }: GenerationItem, { tokenizer, renderer }: KindSite): number[] {
  return typeof prompt === 'string' ? tokenizer.encode(prompt) : renderer.buildGenerationPrompt(prompt);
}

function isChat({ prompt }: GenerationItem): boolean {
  return typeof prompt !== 'string';
}

interface ProbeFacts {
  readonly sample: number;
  readonly site: KindSite;
  readonly isChat: boolean;
}

function probeOf(task: GenerationTask, tokens: readonly number[], facts: ProbeFacts): Probe {
  const { maxNewTokens: maxTokens, temperature = 0, topP = 1 } = task;
  const seed = seedOf(`${task.name}\n${tokens.join(' ')}\n${facts.sample}`);
  const stop = facts.isChat ? { stop: facts.site.renderer.stopSequences() } : {};
  return { tokens, start: tokens.length, ask: { maxTokens, temperature, topP, seed, ...stop } };
}

/** Only what the model wrote: the prompt is never part of the answer. */
function textOf({ tokens, start }: ScoredSequence, item: GenerationItem, site: KindSite): string {
  const written = tokens.slice(start);
  return isChat(item)
    ? completionText(site.renderer, written)
    : site.tokenizer.decode(written, { skipSpecial: true });
}

function valueOf(task: GenerationTask, gold: string, text: string): number {
  const answer = task.clean ? task.clean(text) : text.trim();
  if (task.score) return task.score(gold, answer);
  return Number(task.check ? task.check(gold, answer) : answer === gold);
}
