import { join } from 'node:path';
import { z } from 'zod';
import type { Message } from '../../../../src/core/conversation';
import type { ToolDeclaration } from '../../../../src/core/completion';
import type { MessageEnvironment } from '../../../../src/core/environment';
import { DomainError } from '../../../../src/core/errors';
import type { Grader } from '../../../../src/evaluation/graders/grader';
import type { Example } from '../../../../src/evaluation/example';
import { Permits } from '../../../../src/evaluation/runner/permits';
import { runShard } from '../../../../src/evaluation/runner/run-shard';
import type { GradeRow, SampleRow } from '../../../../src/evaluation/runner/shard-rows';
import { loadTrajectories } from '../../../../src/stores/eval-store';
import { readJsonLines } from '../../../../src/stores/json-lines';
import { defineTool } from '../../../../src/training/environments/tools/tool';
import { createToolEnvironment } from '../../../../src/training/environments/tools/tool-environment';
import {
  examplesOf,
  EXACT,
  modelThatSays,
  newFolder,
  resultIn,
  subjectOf,
  targetOf,
  taskOf,
} from './fake-model';

const samplesIn = (folder: string) => readJsonLines<SampleRow>(join(folder, 'samples.jsonl'));
const gradesIn = (folder: string) => readJsonLines<GradeRow>(join(folder, 'grades.jsonl'));

test('journals one completion and one judgement an example, and asks for none of them again', async () => {
  const folder = newFolder();
  const { completer, asked } = modelThatSays(targetOf);
  const first = await runShard(taskOf(completer, folder));

  const again = await runShard(taskOf(completer, folder, { epoch: 2 }));

  expect(asked).toHaveLength(20);
  expect(again).toEqual(first);
  expect(again).toMatchObject({ total: 20, done: 20, completedCount: 20, rewardSum: 20 });
  expect(await samplesIn(folder)).toHaveLength(20);
  expect(await gradesIn(folder)).toHaveLength(20);
});

test('asks for the next answer while one waits to be judged, and for no more at a time than it may', async () => {
  const { completer, asked } = modelThatSays(targetOf);
  let [inFlight, most] = [0, 0];
  const counting = {
    ...completer,
    async complete(...order: Parameters<typeof completer.complete>) {
      most = Math.max(most, ++inFlight);
      return completer.complete(...order).finally(() => inFlight--);
    },
  };
  let resolve: () => void = () => undefined;
  const secondAsked = new Promise<void>((done) => {
    resolve = done;
  });
  const grader = {
    ...EXACT,
    async grade(...judged: Parameters<typeof EXACT.grade>) {
      if (asked.length > 1) resolve();
      await secondAsked;
      return EXACT.grade(...judged);
    },
  };
  const subject = subjectOf({ grader });
  const permits = new Permits(1);

  const counts = await runShard(taskOf(counting, newFolder(), { subject, permits, concurrency: 1 }));

  expect(counts).toMatchObject({ done: 20, rewardSum: 20 });
  expect(most).toBe(1);
});

test('goes on where an attempt was called off, without losing an answer that had arrived', async () => {
  const folder = newFolder();
  const stop = new AbortController();
  const arrived: string[] = [];
  const first = modelThatSays((question) => {
    if (arrived.length === 9) stop.abort();
    else arrived.push(question);
    return targetOf(question);
  });
  await expect(runShard(taskOf(first.completer, folder, { signal: stop.signal }))).rejects.toMatchObject({
    name: 'AbortError',
  });

  const second = modelThatSays(targetOf);
  const counts = await runShard(taskOf(second.completer, folder, { epoch: 2 }));

  expect(counts).toMatchObject({ done: 20, rewardSum: 20 });
  expect(arrived.filter((question) => second.asked.includes(question))).toEqual([]);
  expect(new Set((await samplesIn(folder)).map(({ example_id }) => example_id)).size).toBe(20);
});

test('judges again without sampling again when the grader failed', async () => {
  const folder = newFolder();
  const { completer, asked } = modelThatSays(targetOf);
  let gradeCount = 0;
  const broken = subjectOf({
    grader: {
      ...EXACT,
      grade(completion, example) {
        gradeCount += 1;
        if (example.id === 'q_3') throw new Error('no ruler at hand');
        return EXACT.grade(completion, example);
      },
    },
  });
  const examples = examplesOf(5);
  const first = await runShard(taskOf(completer, folder, { subject: broken, examples }));
  const failed = await resultIn(folder, broken, examples);

  const mended = await runShard(taskOf(completer, folder, { subject: subjectOf(), examples, epoch: 2 }));

  expect(first).toMatchObject({ done: 5, errorCount: 1, completedCount: 4 });
  expect(gradeCount).toBe(4 + 3);
  expect(failed).toMatchObject({ num_errors: 1, score: 0.8, score_completed: 1 });
  expect(mended).toMatchObject({ errorCount: 0, rewardSum: 5 });
  expect(asked).toHaveLength(5);
});

test('never shows a cut reply to the grader', async () => {
  const folder = newFolder();
  const { completer } = modelThatSays((question) => ({
    message: { role: 'assistant', content: targetOf(question) },
    stopReason: question === 'question 2' ? 'length' : 'stop',
  }));
  const examples = examplesOf(4);

  await runShard(taskOf(completer, folder, { examples }));

  expect(await resultIn(folder, subjectOf(), examples)).toMatchObject({
    score: 0.75,
    num_truncated: 1,
    num_errors: 0,
    score_completed: 1,
  });
});

test('counts a prompt that does not fit as truncated, and asks nothing again', async () => {
  const folder = newFolder();
  const { completer, asked } = modelThatSays((question) => {
    if (question === 'question 1') throw new DomainError('context-overflow', 'too long');
    return targetOf(question);
  });
  const examples = examplesOf(3);

  await runShard(taskOf(completer, folder, { examples }));
  const counts = await runShard(taskOf(completer, folder, { examples, epoch: 2 }));

  expect(counts).toMatchObject({ done: 3, truncatedCount: 1, errorCount: 0 });
  expect(asked).toHaveLength(3);
});

test('keeps reasoning that is told apart from the grader', async () => {
  const folder = newFolder();
  const { completer } = modelThatSays((question) => ({
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'It may be 7.' },
        { type: 'text', text: targetOf(question) },
      ],
    },
    rawText: `<think>It may be 7.</think>${targetOf(question)}`,
  }));
  const examples = examplesOf(2);

  await runShard(taskOf(completer, folder, { examples }));
  const result = await resultIn(folder, subjectOf(), examples);

  const [trajectory] = await loadTrajectories(folder, 'bench');
  expect(result.score).toBe(1);
  expect(trajectory?.turns[1]?.content).toBe('<think>It may be 7.</think>0');
});

test('draws samples with seeds of their own, and gives pass@k and pass^k', async () => {
  const folder = newFolder();
  const seen = new Map<string, number>();
  const { completer, requests } = modelThatSays((question) => {
    const count = (seen.get(question) ?? 0) + 1;
    seen.set(question, count);
    // Of four samples one is right of the first example, two of the second, and so on.
    return count <= Number(targetOf(question)) + 1 ? targetOf(question) : 'wrong';
  });
  const subject = subjectOf({ numSamples: 4 });
  const examples = examplesOf(4);

  await runShard(taskOf(completer, folder, { subject, examples, concurrency: 1 }));
  const result = await resultIn(folder, subject, examples);

  expect(new Set(requests.map(({ params }) => params.seed)).size).toBe(16);
  expect(result).toMatchObject({ num_examples: 16, num_correct: 10, score: 10 / 16 });
  expect(Object.keys(result.pass_at_k)).toEqual(['1', '2', '4']);
  expect(result.pass_at_k['1']).toBeCloseTo(10 / 16, 12);
  expect(result.pass_at_k['2']).toBeCloseTo((1 / 2 + 5 / 6 + 1 + 1) / 4, 12);
  expect(result.pass_at_k['4']).toBe(1);
  expect(result.metrics['pass_hat_k/4']).toBeCloseTo(1 / 4, 12);
  // The samples of an example hang together: the error is that of four means, not of sixteen rewards.
  expect(result.stderr).toBeCloseTo(Math.sqrt(((0.375 ** 2 + 0.125 ** 2) * 2) / 3 / 4), 12);
  const trajectories = await loadTrajectories(folder, 'bench');
  expect(
    trajectories.map(({ example_id, sample_index }) => `${example_id}/${sample_index ?? ''}`).slice(0, 5),
  ).toEqual(['q_0/0', 'q_0/1', 'q_0/2', 'q_0/3', 'q_1/0']);
});

test('bounds a grader that never comes to an end', async () => {
  const folder = newFolder();
  const { completer } = modelThatSays(targetOf);
  const subject = subjectOf({
    grader: { ...EXACT, grade: () => new Promise(() => undefined) },
  });
  const examples = examplesOf(2);

  const counts = await runShard(taskOf(completer, folder, { subject, examples, timeoutMs: 30 }));

  const [row] = await gradesIn(folder);
  expect(counts).toMatchObject({ done: 2, errorCount: 2 });
  expect(row?.error).toBe('grader: timeout (0.03s)');
});

test('ends with its attempt although the model does not listen', async () => {
  const stop = new AbortController();
  const { completer } = modelThatSays(() => new Promise<string>(() => undefined));
  const running = runShard(taskOf(completer, newFolder(), { signal: stop.signal }));

  stop.abort();

  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
});

test('throws what says nothing of an example', async () => {
  const folder = newFolder();
  const { completer } = modelThatSays(() => {
    throw new DomainError('unreachable', 'gone', { retryable: true });
  });

  await expect(runShard(taskOf(completer, folder))).rejects.toMatchObject({ code: 'unreachable' });
  expect(await gradesIn(folder)).toEqual([]);
});

/** Asks for a number three times; the reward is how often it was told the next one. */
function counting(opened: string[]) {
  return ({ id }: Example): MessageEnvironment => {
    let turn = 0;
    opened.push(id);
    return {
      initialObservation: () => ({ messages: [{ role: 'user', content: `${id} begins` }] }),
      step({ content }) {
        turn += 1;
        const isRight = content === String(turn);
        return {
          reward: Number(isRight) / 3,
          isDone: turn === 3,
          nextMessages: [{ role: 'user', content: `${id} after ${turn}` }],
          metrics: { turns: turn },
        };
      },
    };
  };
}

test('plays episodes of several turns, and repeats them from what was said before', async () => {
  const folder = newFolder();
  const opened: string[] = [];
  const subject = subjectOf({ environment: counting(opened) });
  const examples = examplesOf(2);
  const say = (question: string) => String(Number(question.split('after ')[1] ?? 0) + 1);
  let isAway = true;
  const { completer, asked } = modelThatSays((question) => {
    if (isAway && question === 'q_1 after 2')
      throw new DomainError('unreachable', 'gone', { retryable: true });
    return say(question);
  });
  const task = taskOf(completer, folder, { subject, examples, concurrency: 1 });
  await expect(runShard(task)).rejects.toMatchObject({ code: 'unreachable' });
  isAway = false;

  await runShard({ ...task, epoch: 2 });
  const result = await resultIn(folder, subject, examples);

  expect(asked).toEqual([
    ...['q_0 begins', 'q_0 after 1', 'q_0 after 2'],
    ...['q_1 begins', 'q_1 after 1', 'q_1 after 2', 'q_1 after 2'],
  ]);
  expect(opened).toEqual(['q_0', 'q_1', 'q_1']);
  expect(result).toMatchObject({ score: 1, metrics: { turns: 3 } });
  const [trajectory] = await loadTrajectories(folder, 'bench');
  expect(trajectory?.turns.map(({ role }) => role)).toEqual([
    ...['user', 'assistant', 'environment', 'assistant', 'environment', 'assistant', 'grader'],
  ]);
  // What was asked is what the environment began with, not what its example says.
  expect(trajectory?.turns[0]?.content).toBe('q_0 begins');
});

test.each([
  ['{ name, parameters }', { name: 'add', parameters: { type: 'object' } }, null],
  ["OpenAI's", { type: 'function', function: { name: 'add', parameters: { type: 'object' } } }, null],
  ['no known form', { title: 'add' }, 'A tool is { name, description, parameters }'],
])('tools of an environment in the form of %s', async (_form, tool, problem) => {
  const folder = newFolder();
  const tools: unknown = [tool];
  const subject = subjectOf({
    environment: ({ messages }) => ({
      initialObservation: () => ({ messages, tools: tools as ToolDeclaration[] }),
      step: () => ({ reward: 1, isDone: true, nextMessages: [] }),
    }),
  });
  const { completer } = modelThatSays((question) => question);
  const declared: unknown[] = [];
  const listening = {
    ...completer,
    complete(...order: Parameters<typeof completer.complete>) {
      declared.push(order[0].tools);
      return completer.complete(...order);
    },
  };

  await runShard(taskOf(listening, folder, { subject, examples: examplesOf(1), concurrency: 1 }));

  const [grade] = await gradesIn(folder);
  if (problem === null) expect(declared).toEqual([[{ name: 'add', parameters: { type: 'object' } }]]);
  else expect(declared).toEqual([]);
  expect(grade?.error ?? null).toEqual(problem === null ? null : expect.stringContaining(problem));
});

test('messages of an environment in the spelling of OpenAI are read', async () => {
  const folder = newFolder();
  const said: unknown = [{ role: 'tool', content: 'two', tool_call_id: 'c1' }];
  const subject = subjectOf({
    environment: ({ messages }) => ({
      initialObservation: () => ({ messages }),
      step: ({ content }) => ({
        ...{ reward: 1, isDone: content === 'two' },
        nextMessages: said as Message[],
      }),
    }),
  });
  const examples = examplesOf(1);
  const { completer } = modelThatSays((question) => question);

  await runShard(taskOf(completer, folder, { subject, examples, concurrency: 1 }));
  await resultIn(folder, subject, examples);

  const [trajectory] = await loadTrajectories(folder, 'bench');
  expect(trajectory?.turns[2]).toMatchObject({ content: 'two', metadata: { tool_call_id: 'c1' } });
});

test('a trajectory has the calls of its turns, and which of them a tool answered', async () => {
  const folder = newFolder();
  const add = defineTool({
    ...{ name: 'add', description: 'Adds', parameters: z.object({ a: z.number() }) },
    run: ({ a }) => String(a + 1),
  });
  const asked: Message[] = [
    { role: 'assistant', content: '', toolCalls: [{ name: 'add', arguments: '{"a":0}' }] },
    { role: 'tool', content: '1' },
    { role: 'user', content: 'And 1?' },
  ];
  const subject = subjectOf({
    environment: () => createToolEnvironment({ messages: asked, tools: [add], grade: () => ({ reward: 1 }) }),
  });
  const examples = examplesOf(1);
  const { completer } = modelThatSays((question) => question);
  const toolCalls = [{ id: 'c1', name: 'add', arguments: '{"a":1}' }];
  const calling = {
    ...completer,
    async complete(...order: Parameters<typeof completer.complete>) {
      const completion = await completer.complete(...order);
      if (order[0].messages.at(-1)?.role === 'tool') return completion;
      return { ...completion, rawText: '', message: { role: 'assistant', content: '', toolCalls } };
    },
  };

  await runShard(taskOf(calling, folder, { subject, examples, concurrency: 1 }));
  await resultIn(folder, subject, examples);

  const [trajectory] = await loadTrajectories(folder, 'bench');
  expect(trajectory?.turns).toMatchObject([
    { role: 'user', content: '[calls add({"a":0})]\n\n1\n\nAnd 1?' },
    { role: 'assistant', content: '', metadata: { tool_calls: toolCalls } },
    { role: 'environment', content: '2', metadata: { role: 'tool', name: 'add', tool_call_id: 'c1' } },
    { role: 'assistant', content: '2' },
    { role: 'grader' },
  ]);
});

test('a limit of turns leaves what tools said last, why it ended, every prompt and all calls', async () => {
  const folder = newFolder();
  const add = defineTool({
    ...{ name: 'add', description: 'Adds', parameters: z.object({ a: z.number() }) },
    run: ({ a }) => String(a + 1),
  });
  const subject = subjectOf({
    environment: ({ messages }) =>
      createToolEnvironment({ messages, tools: [add], maxTurns: 2, grade: () => ({ reward: 1 }) }),
  });
  const examples = examplesOf(2);
  const wrong = { id: 'c1', name: 'add', arguments: '{}' };
  const { completer } = modelThatSays((_, { messages }) => {
    const isCalling = messages[0]?.content === 'question 0';
    const calls = isCalling && { toolCalls: [wrong, { ...wrong, id: 'c2', arguments: '{"a":1}' }] };
    return { message: { role: 'assistant', content: '', ...calls } };
  });

  await runShard(taskOf(completer, folder, { subject, examples, concurrency: 1 }));
  const { metrics } = await resultIn(folder, subject, examples);

  const [limited, completed] = await loadTrajectories(folder, 'bench');
  expect(limited?.turns.slice(-3)).toMatchObject([
    { role: 'environment', content: expect.stringContaining('error') as string },
    { role: 'environment', content: '2', metadata: { role: 'tool', tool_call_id: 'c2' } },
    { role: 'grader' },
  ]);
  expect(limited?.turns.map(({ metadata }) => metadata['prompt_tokens'])).toEqual([
    ...[undefined, undefined, undefined, undefined, 3, undefined, undefined, undefined],
  ]);
  expect(limited).toMatchObject({
    metrics: { tool_calls: 4, tool_errors: 2 },
    logs: { stop_reason: 'max_turns' },
  });
  expect(completed?.logs).toMatchObject({ stop_reason: 'completed' });
  expect(metrics).toMatchObject({ tool_calls: 2, tool_errors: 1 });
});

test('does not score 0 where nothing could be asked', async () => {
  const folder = newFolder();
  const { completer } = modelThatSays(() => {
    throw new DomainError('request-failed', 'no such parameter', { category: 'user' });
  });
  const examples = examplesOf(3);
  await runShard(taskOf(completer, folder, { examples }));

  await expect(resultIn(folder, subjectOf(), examples)).rejects.toThrow(
    'All 3 examples failed, the first with: no such parameter',
  );
});

test('a programming error between examples ends the shard and calls off what is asked', async () => {
  const { completer } = modelThatSays(targetOf);
  let tell: (signal: AbortSignal | undefined) => void = () => undefined;
  const secondAsked = new Promise<AbortSignal | undefined>((resolve) => {
    tell = resolve;
  });
  let askedCount = 0;
  const slow = {
    ...completer,
    async complete(...order: Parameters<typeof completer.complete>) {
      if (++askedCount === 1) return completer.complete(...order);
      tell(order[1]?.signal);
      return new Promise<never>(() => undefined);
    },
  };
  const grader = {
    ...EXACT,
    async grade(...judged: Parameters<typeof EXACT.grade>) {
      await secondAsked;
      return EXACT.grade(...judged);
    },
  };
  const broken = {
    ...examplesOf(1)[0],
    toJSON() {
      throw new ReferenceError('units is not defined');
    },
  } as unknown as Example;
  const examples = [...examplesOf(2), broken];
  const subject = subjectOf({ grader });

  const running = runShard(taskOf(slow, newFolder(), { examples, subject, concurrency: 1 }));
  await expect(running).rejects.toThrow('units is not defined');

  expect((await secondAsked)?.aborted).toBe(true);
});

test('counts the examples of which all samples are done, with the error that the result will have', async () => {
  const folder = newFolder();
  const subject = subjectOf({ numSamples: 2 });
  const examples = examplesOf(6);
  let askCount = 0;
  // Every third answer is wrong, so that some examples are half right.
  const { completer } = modelThatSays((question) => (askCount++ % 3 === 0 ? 'no' : targetOf(question)));

  const counts = await runShard(taskOf(completer, folder, { subject, examples, concurrency: 1 }));

  const { stderr, score } = await resultIn(folder, subject, examples);
  const { count, sum, squares } = counts.examples ?? { count: 0, sum: 0, squares: 0 };
  expect([count, sum / count]).toEqual([6, score]);
  expect(Math.sqrt((squares - count * score * score) / (count - 1) / count)).toBeCloseTo(stderr ?? NaN, 12);
});

/** Says `1` or `0` to the question, or something that is no verdict. */
const READS: Grader = {
  name: 'reads',
  version: 'reads@1',
  grade: (completion) =>
    completion === '?'
      ? { value: 0, answer: null, metrics: { unparsed: 1 } }
      : { value: Number(completion), answer: completion, metrics: { unparsed: 0 } },
};

test('a verdict that cannot be read is done and in no score so far, also when it is read back', async () => {
  const folder = newFolder();
  const { completer } = modelThatSays((question) => (targetOf(question) === '3' ? '?' : '1'));
  const changes = { subject: subjectOf({ grader: READS }), examples: examplesOf(10) };

  const first = await runShard(taskOf(completer, folder, changes));
  const again = await runShard(taskOf(completer, folder, { ...changes, epoch: 2 }));

  expect(first).toMatchObject({ total: 10, done: 10, unreadCount: 1, rewardSum: 9 });
  expect(again).toEqual(first);
});

test('an example of several samples has the score of those whose verdicts can be read', async () => {
  const { completer } = modelThatSays((question) => (targetOf(question) === '0' ? '?' : '1'));
  const subject = subjectOf({ grader: READS, numSamples: 2 });

  const counts = await runShard(taskOf(completer, newFolder(), { subject, examples: examplesOf(3) }));

  expect(counts).toMatchObject({ done: 6, unreadCount: 2, examples: { count: 2, sum: 2, squares: 2 } });
});
