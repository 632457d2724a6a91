import type { JudgeSource } from '../../../../src/core/benchmark-run';
import type { Completion, CompletionRequest } from '../../../../src/core/completion';
import type { Example } from '../../../../src/evaluation/example';
import type {
  Grader,
  JudgeDesk,
  JudgeMethod,
  JudgeQuestion,
} from '../../../../src/evaluation/graders/grader';
import type { JudgeAccess } from '../../../../src/evaluation/judges/judge-access';
import { withJudges } from '../../../../src/evaluation/judges/judged-grader';
import { openJudging } from '../../../../src/evaluation/judges/open-judging';
import { messageText } from '../../../../src/evaluation/runner/message-text';
import { createPermitPool } from '../../../../src/evaluation/runner/permits';
import { modelThatSays, newFolder } from '../runner/fake-model';

export function judgeCalled(model: string, changes: Partial<JudgeSource> = {}): JudgeSource {
  return {
    model: { type: 'endpoint', url: 'http://127.0.0.1:1/v1', api: 'chat', model },
    ...{ temperature: 0, topP: 1, concurrency: 4, timeoutSeconds: 5 },
    ...changes,
  };
}

type Say = (request: CompletionRequest, model: string) => string | Partial<Completion>;

/** Judges by name behind one access, which counts what each is asked. */
export function judgesThatSay(say: Say, cacheFolder: string | null = null) {
  const asked: { readonly model: string; readonly request: CompletionRequest }[] = [];
  const access: JudgeAccess = {
    models: {
      promptFormat: () => 'chat',
      open: ({ model }) =>
        Promise.resolve({
          completer: modelThatSays((_question, request) => {
            asked.push({ model, request });
            return say(request, model);
          }).completer,
        }),
    },
    permitsOf: createPermitPool(),
    cacheFolder,
    findCheckpoint: () => Promise.reject(new Error('no checkpoints here')),
    check: () => Promise.resolve(),
  };
  return { access, asked };
}

export interface OpenOptions {
  readonly judges?: readonly JudgeSource[];
  readonly folder?: string;
  readonly epoch?: number;
}

export function openWith(grader: Grader, access: JudgeAccess, options: OpenOptions = {}) {
  const { judges = [judgeCalled('judge')], folder = newFolder(), epoch = 1 } = options;
  return openJudging(withJudges(grader, judges), {
    ...{ judges, access, folder, epoch },
    rank: 0,
    signal: new AbortController().signal,
  });
}

/** A desk whose judge answers by the stage; it remembers the questions. */
export function deskThatSays(say: (question: JudgeQuestion) => string) {
  const questions: JudgeQuestion[] = [];
  const ask = (question: JudgeQuestion) => {
    questions.push(question);
    return Promise.resolve(say(question));
  };
  const desk: JudgeDesk = { ask, askModel: (_model, question) => ask(question) };
  return { desk, questions };
}

export function voteOf(method: JudgeMethod, reply: string, example: Example, completion = 'the answer') {
  return method.vote(deskThatSays(() => reply).desk, completion, example);
}

export const EXAMPLE: Example = {
  id: 'q_1',
  messages: [{ role: 'user', content: 'What is the capital of France?' }],
  target: 'Paris',
};

export function promptOf({ messages }: Pick<JudgeQuestion, 'messages'>): string {
  return messageText(messages.at(-1) ?? { role: 'user', content: '' });
}
