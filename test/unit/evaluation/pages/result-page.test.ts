import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resultPage } from '../../../../src/evaluation/pages/result-page';
import type { StoredTrajectory } from '../../../../src/stores/eval-store';
import { dataFolder, evaluate, numberIn, requestOf } from '../runner/evaluate-here';
import { modelThatSays } from '../runner/fake-model';

function trajectoryOf(example: string, reply: string): StoredTrajectory {
  return {
    ...{
      idx: 0,
      benchmark: 'guess',
      example_id: example,
      reward: 0,
      metrics: {},
      error: null,
      time_seconds: 1,
    },
    turns: [
      { role: 'user', content: 'A digit?', token_count: 3, metadata: {} },
      { role: 'assistant', content: reply, token_count: 2, metadata: { stop_reason: 'stop' } },
      { role: 'environment', content: 'higher', token_count: 1, metadata: { role: 'tool' } },
      { role: 'assistant', content: '7', token_count: 1, metadata: { stop_reason: 'length' } },
    ],
    logs: { secret: '<8>' },
  };
}

test('shows every turn of an example, the samples of one together', () => {
  const page = resultPage({
    title: 'mine, guess',
    trajectories: [trajectoryOf('one', '3'), trajectoryOf('one', '4'), trajectoryOf('two', '5')],
    limit: 4,
  });

  expect(page.match(/<h2>Group \d: \w+/g)).toEqual(['<h2>Group 0: one', '<h2>Group 1: two']);
  expect(page.match(/<summary>/g)).toHaveLength(3);
  expect(page).toContain('<div class="role">tool</div><pre>higher</pre>');
  expect(page).toContain('<td>max_tokens</td><td>2</td><td>3</td>');
  expect(page).toContain('secret: &lt;8&gt;');
  expect(page).not.toContain('more groups');
});

test('reads no further than the examples on the page, and says what shows the others', () => {
  let readCount = 0;
  function* many() {
    for (; readCount < 1000; readCount += 1) yield trajectoryOf(`e${readCount}`, '1');
  }

  const page = resultPage({
    title: 'mine, guess',
    trajectories: many(),
    limit: 2,
    rest: { exampleCount: 1000, command: 'everstep results trajectories mine guess --limit 1000' },
  });

  expect(readCount).toBe(2);
  expect(page).toContain(
    '998 more groups: <code>everstep results trajectories mine guess --limit 1000 --html FILE</code>',
  );
});

test('a finished benchmark has a page of its first examples beside its result', async () => {
  const request = requestOf({ dataFolder: dataFolder(6) });

  await evaluate(modelThatSays(numberIn).completer, request);

  const file = join(request.folder, 'gsm8k', 'rollouts.html');
  expect(existsSync(file)).toBe(true);
  const page = readFileSync(file, 'utf8');
  expect(page).toContain('<title>eval-one, gsm8k</title>');
  expect(page.match(/<h2>/g)).toHaveLength(4);
  expect(page).toContain('2 more groups');
  expect(page).toContain('--limit 6 --html FILE');
});
