import type { ToolDeclaration } from '../../../../src/core/completion';
import type { TrainingStep } from '../../../../src/training/environments/environment-dataset';
import {
  checkedObservation,
  checkedStep,
  checkedStopReason,
} from '../../../../src/training/rollouts/environment-answers';

const STEP = { reward: 1, isDone: true, nextMessages: [] };

function stepWith(more: object): TrainingStep {
  return { ...STEP, ...more };
}

test('what an environment does to its answer later changes nothing', () => {
  const messages = [{ role: 'user', content: 'first' }];
  const observation = checkedObservation({ messages });

  messages.push({ role: 'user', content: 'second' });

  expect(observation.messages).toEqual([{ role: 'user', content: 'first' }]);
});

test('a tool may be declared by its name alone', () => {
  expect(checkedObservation({ messages: [], tools: [{ name: 'add' }] }).tools).toEqual([{ name: 'add' }]);
});

test('tools in a form of the field are read', () => {
  const parameters = { type: 'object', properties: { a: { type: 'number' } } };
  const given: unknown = [
    { type: 'function', function: { name: 'add', description: 'Adds', parameters } },
    { name: 'sum', input_schema: parameters },
  ];

  expect(checkedObservation({ messages: [], tools: given as ToolDeclaration[] }).tools).toEqual([
    { name: 'add', description: 'Adds', parameters },
    { name: 'sum', parameters },
  ]);
});

test('calls in the spelling of OpenAI are read, and what is none is refused by name', () => {
  const add = { name: 'add', arguments: '{}' };
  const called: unknown = [
    { role: 'assistant', content: '', tool_calls: [{ id: 'c1', type: 'function', function: add }] },
    { role: 'tool', content: '2', tool_call_id: 'c1' },
    { role: 'user', content: 'and?' },
  ];
  const nextMessages = called as TrainingStep['nextMessages'];
  const read = [
    { role: 'assistant', content: '', toolCalls: [{ id: 'c1', ...add }] },
    { role: 'tool', content: '2', toolCallId: 'c1' },
    { role: 'user', content: 'and?' },
  ];

  expect(checkedObservation({ messages: nextMessages }).messages).toEqual(read);
  expect(checkedStep({ reward: 0, isDone: false, nextMessages }).nextMessages).toEqual(read);
  const wrong: unknown = [{ role: 'assistant', content: '', tool_calls: [{ function: 'add' }] }];
  expect(() => checkedObservation({ messages: wrong as TrainingStep['nextMessages'] })).toThrow(
    /messages\[0\] of the environment: .*tool_calls\[0\].function/,
  );
});

test('a tool in no known form is refused with the form that is needed', () => {
  const given: unknown = [{ title: 'add' }];

  expect(() => checkedObservation({ messages: [], tools: given as ToolDeclaration[] })).toThrow(
    /initialObservation of the environment: .*tools\[0\].*A tool is \{ name, description, parameters \}/,
  );
});

test('an answer is read once: what cannot be read a second time does no harm', () => {
  let readCount = 0;
  const given = Object.defineProperty({ ...STEP }, 'reward', {
    enumerable: true,
    get: () => {
      readCount += 1;
      if (readCount > 1) throw new Error('only once');
      return 0.5;
    },
  });

  expect(checkedStep(given).reward).toBe(0.5);
});

test('answers that are no plain data are taken as they are', () => {
  class Reply {
    readonly role = 'user';
    get content(): string {
      return 'computed';
    }
  }

  expect(checkedObservation({ messages: [new Reply()] }).messages[0]?.content).toBe('computed');
  expect(checkedStep(stepWith({ logs: { later: () => 1 } })).reward).toBe(1);
});

test('an answer that says something else each time it is asked is what it said first', () => {
  let readCount = 0;
  // A proxy cannot be copied.
  const given = new Proxy(STEP, {
    get: (step, key) => (key === 'reward' && ++readCount > 1 ? 'much' : (Reflect.get(step, key) as unknown)),
  });
  const step = checkedStep(given);

  expect([step.reward, step.reward]).toEqual([1, 1]);
});

test.each([
  [{ metrics: { '': 1 } }, /^step of the environment: a name is empty$/],
  [{ metrics: { 'two\nlines': 1 } }, /the name "two\\nlines" has line breaks or characters that cannot/],
  [{ metrics: { 'half \ud800': 1 } }, /the name "half \\ud800" has line breaks or/],
  [{ metrics: { ['m'.repeat(201)]: 1 } }, /the name "m{40}"… is longer than 200 characters/],
  [{ metrics: JSON.parse('{"__proto__": 1}') as object }, /the name "__proto__" is taken by JavaScript/],
  [
    { metrics: Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`of example ${index}`, 1])) },
    /^step of the environment: 1001 metrics are more than 1000; what is told of single examples belongs into logs$/,
  ],
  [{ stopReason: 'tab\there' }, /the name "tab\\there" has line breaks/],
])('a name that cannot be part of a metric’s key is no answer: %j', (more, message) => {
  expect(() => checkedStep(stepWith(more))).toThrow(
    expect.objectContaining({
      type: 'environment_garbage',
      message: expect.stringMatching(message) as string,
    }) as Error,
  );
});

test('names may have parts, spaces, and letters of any language', () => {
  const metrics = { 'reward/format': 1, 'Länge der Antwort': 2, 正解: 3, constructor: 4, '😀': 5 };

  expect(checkedStep(stepWith({ metrics, stopReason: 'gave up' })).metrics).toEqual(metrics);
});

test('another name of a stop is a name as well', () => {
  expect(checkedStopReason('too_long')).toBe('too_long');
  expect(() => checkedStopReason('a\nb')).toThrow(/^nameStop of the environment: the name/);
});
