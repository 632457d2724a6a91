import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  Completer,
  Completion,
  CompletionOptions,
  CompletionRequest,
} from '../../../../src/core/completion';
import type { Example } from '../../../../src/evaluation/example';
import type { Grader } from '../../../../src/evaluation/graders/grader';
import { messageText } from '../../../../src/evaluation/runner/message-text';
import { Permits } from '../../../../src/evaluation/runner/permits';
import type { ExampleSubject, ShardTask } from '../../../../src/evaluation/runner/shard-task';
import { writeResult } from '../../../../src/evaluation/runner/write-result';
import type { StoredResult } from '../../../../src/stores/eval-store';

type Answer = string | Partial<Completion>;

/** A model that speaks text; it counts what it is asked. */
export function modelThatSays(
  answer: (
    question: string,
    request: CompletionRequest,
    options: CompletionOptions,
  ) => Answer | Promise<Answer>,
) {
  const asked: string[] = [];
  const requests: CompletionRequest[] = [];
  const completer: Completer = {
    async complete(request, options = {}) {
      const question = messageText(request.messages.at(-1) ?? { role: 'user', content: '' });
      asked.push(question);
      requests.push(request);
      options.signal?.throwIfAborted();
      const said = await answer(question, request, options);
      const rest = typeof said === 'string' ? { message: { role: 'assistant', content: said } } : said;
      const message = rest.message ?? { role: 'assistant', content: '' };
      return {
        message,
        rawText: messageText(message),
        stopReason: 'stop',
        promptTokenCount: 3,
        completionTokenCount: 2,
        seconds: 0.001,
        ...rest,
      };
    },
    close: async () => undefined,
  };
  return { completer, asked, requests };
}

export function examplesOf(count: number): Example[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `q_${index}`,
    messages: [{ role: 'user', content: `question ${index}` }],
    target: String(index),
  }));
}

/** Right where the completion is the target. */
export const EXACT: Grader = {
  name: 'exact',
  version: 'exact@1',
  grade: (completion, { target }) => ({ value: Number(completion === target), answer: completion }),
};

export function targetOf(question: string): string {
  return question.split(' ')[1] ?? '';
}

export function subjectOf(changes: Partial<ExampleSubject> = {}): ExampleSubject {
  const generation = { maxTokens: 16, temperature: 0, topP: 1 };
  return { grader: EXACT, generation, numSamples: 1, base: 'weights', ...changes };
}

export function taskOf(completer: Completer, folder: string, changes: Partial<ShardTask> = {}): ShardTask {
  const concurrency = changes.concurrency ?? 4;
  return {
    subject: subjectOf(),
    examples: examplesOf(20),
    folder,
    epoch: 1,
    completer,
    permits: new Permits(concurrency),
    rank: 0,
    concurrency,
    timeoutMs: 5000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...changes,
  };
}

/** The result of a shard that has run, in the folder `bench` beside its journals. */
export function resultIn(
  folder: string,
  subject: ExampleSubject,
  examples: readonly Example[],
): Promise<StoredResult> {
  return writeResult({
    name: 'bench',
    folder: join(folder, 'bench'),
    subject,
    shards: [{ folder, examples }],
    identity: {
      ...{ benchmarkVersion: 1, dataHash: 'd', promptHash: 'p', graderVersion: 'g' },
      ...{ sampling: {}, model: 'm', checkpoint: 'c' },
    },
    seconds: () => 1,
    verify: () => undefined,
  });
}

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-runner-'));
  folders.push(folder);
  return folder;
}
