import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resultPage } from '../../../../src/evaluation/pages/result-page';
import type { StoredTrajectory } from '../../../../src/stores/eval-store';
import { streamTrajectories } from '../../../../src/stores/eval-store';
import { printTrajectory } from '../../../../src/stores/eval-trajectory-text';
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

test('shows the calls of a turn as text', () => {
  const { turns, ...rest } = trajectoryOf('one', '');
  const tool_calls = [
    { id: 'c1', name: 'search', arguments: '{"query":"<b>"}' },
    { type: 'function', function: { name: 'add', arguments: { a: 1 } } },
  ];

  const page = resultPage({
    title: 'mine, guess',
    trajectories: [
      { ...rest, turns: turns.map((turn) => ({ ...turn, metadata: { ...turn.metadata, tool_calls } })) },
    ],
    limit: 4,
  });

  expect(page).toContain(
    '<div class="role">assistant</div><pre>[calls search({&quot;query&quot;:&quot;&lt;b&gt;&quot;})]\n[calls add({&quot;a&quot;:1})]</pre>',
  );
});

/** What a file of trajectories may hold where numbers and texts should be. */
const HOSTILE: readonly unknown[] = [
  '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/">',
  '"\'><img src=x onerror=alert(1)>',
  ['</pre><script>alert(1)</script>'],
  { '<b>': { toString: '<script>' }, toString: '<i>' },
  '\u001b]0;taken\u0007\u202ehidden\u2066',
  null,
];

test('whatever a file of trajectories holds, nothing of it becomes an element', () => {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-page-'));
  const whole = trajectoryOf('one', 'a');
  const lines: unknown[] = [whole];
  for (const value of HOSTILE) {
    for (const key of [...Object.keys(whole), 'sample_index']) lines.push({ ...whole, [key]: value });
    for (const key of ['role', 'content', 'token_count', 'metadata'])
      lines.push({ ...whole, turns: [{ ...whole.turns[1], [key]: value }, value] });
    lines.push({ ...whole, turns: [{ ...whole.turns[1], metadata: { stop_reason: value, role: value } }] });
    for (const call of [value, { id: value, name: value, arguments: value }, { function: value }])
      lines.push({ ...whole, turns: [{ ...whole.turns[1], metadata: { tool_calls: [call] } }] });
    lines.push({ ...whole, turns: [{ ...whole.turns[1], metadata: { tool_calls: value } }] });
    for (const key of ['metrics', 'logs'])
      lines.push({ ...whole, [key]: { [JSON.stringify(value)]: value } });
  }
  try {
    writeFileSync(
      join(folder, 'trajectories.jsonl'),
      `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`,
    );
    const trajectories = [...streamTrajectories(folder)];
    const page = resultPage({ title: String(HOSTILE[0]), trajectories, limit: Infinity });
    const printed: string[] = [];
    for (const each of trajectories) printTrajectory(each, { write: (line) => printed.push(line) });

    expect(trajectories.length).toBeGreaterThan(20);
    const elements = new Set([...page.matchAll(/<([^\s>]*)/g)].map(([, name = '']) => name.replace('/', '')));
    expect([...elements].sort()).toEqual(ELEMENTS);
    // Attributes are the page's own.
    expect(page.match(/<[^>]*\b(on\w+|src|href)=/)).toBeNull();
    expect(page.match(/<meta/g)).toHaveLength(2);
    expect(page).not.toMatch(/[\u001b\u0007\u202e\u2066]/);
    expect(page).toContain('\\x1b]0;taken\\x07\\u202ehidden\\u2066');
    expect(printed.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const ELEMENTS = [
  ...[
    '!doctype',
    'body',
    'details',
    'div',
    'h1',
    'h2',
    'head',
    'html',
    'meta',
    'p',
    'pre',
    'style',
    'summary',
  ],
  ...['table', 'td', 'th', 'title', 'tr'],
];

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
