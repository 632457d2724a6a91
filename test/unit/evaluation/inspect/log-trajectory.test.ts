import type { LoggedSample } from '../../../../src/evaluation/inspect/log/log-schema';
import { LoggedSample as Sample } from '../../../../src/evaluation/inspect/log/log-schema';
import { trajectoryOfSample } from '../../../../src/evaluation/inspect/log/log-trajectory';

function sample(changes: object): LoggedSample {
  return Sample.parse({ id: 1, epoch: 1, input: 'which?', target: 'B', ...changes });
}

function read(changes: object, main = { scorer: 'parts', part: 'first' }) {
  return trajectoryOfSample(sample(changes), { benchmark: 't', index: 0, hasEpochs: false, main });
}

test('of a score with several parts the main one is the reward, and the others are metrics', () => {
  const trajectory = read({
    scores: { parts: { value: { first: 'C', second: 0.25, third: 'none' } }, other: { value: 0.5 } },
  });

  expect(trajectory.reward).toBe(1);
  expect(trajectory.metrics).toEqual({ correct: 1, 'parts/second': 0.25, other: 0.5 });
});

test('a score without the main part leaves the sample unscored', () => {
  const trajectory = read({ scores: { parts: { value: { second: 1 } } } });

  expect(trajectory).toMatchObject({ reward: 0, logs: { unscored: true } });
  expect(trajectory.metrics).toEqual({ 'parts/second': 1 });
});

test('calls of tools are kept as ours are, and what a tool said names its call', () => {
  const { turns } = read({
    messages: [
      { role: 'system', content: 'add' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', image: 'data:…' },
        ],
      },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c1', function: 'add', arguments: { x: 1 }, type: 'function' }],
      },
      { role: 'tool', content: '2', function: 'add', tool_call_id: 'c1' },
    ],
  });

  expect(turns.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'add'],
    ['user', 'see\n[image]'],
    ['assistant', ''],
    ['environment', '2'],
  ]);
  expect(turns[2]?.metadata).toEqual({ tool_calls: [{ id: 'c1', name: 'add', arguments: '{"x":1}' }] });
  expect(turns[3]?.metadata).toEqual({ role: 'tool', name: 'add', tool_call_id: 'c1' });
});

test('choices are kept', () => {
  expect(read({ choices: ['a', 'b'] }).logs).toMatchObject({ choices: ['a', 'b'], answer: null });
});
