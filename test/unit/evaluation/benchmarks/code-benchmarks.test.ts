import { parseJson } from '../../../../src/core/whole-floats';
import { findBenchmark } from '../../../../src/evaluation/benchmarks';
import { withinDates } from '../../../../src/evaluation/benchmarks/date-window';

const PROBLEM = {
  question_id: 'abc_1',
  question_content: 'Add.',
  contest_date: '2025-02-01T10:00:00',
  starter_code: '',
  difficulty: 'easy',
  public_test_cases: '[]',
};

describe('livecodebench', () => {
  test('asks as officially, with starter code and without', () => {
    const benchmark = findBenchmark('livecodebench');
    const plain = benchmark.toExample(PROBLEM, 0)?.messages[0]?.content;
    const started = benchmark.toExample({ ...PROBLEM, starter_code: 'class Solution:' }, 0)?.messages[0]
      ?.content;

    expect(plain).toMatch(/^### Question:\nAdd\.\n\n### Format: Read the inputs from stdin/);
    expect(plain).toContain('```python\n# YOUR CODE HERE\n```\n\n### Answer:');
    expect(started).toContain('starter code to write the solution');
    expect(started).toContain('```python\nclass Solution:\n```');
  });

  test.each([
    [{}, true],
    [{ startDate: '2025-02-01' }, true],
    [{ startDate: '2025-02-02' }, false],
    [{ endDate: '2025-02-02' }, true],
    [{ endDate: '2025-02-01' }, false],
    [{ startDate: '2025-01-01', endDate: '2025-03-01' }, true],
  ])('within the dates %j a contest of 2025-02-01 is kept: %s', (window, isKept) => {
    const example = withinDates(findBenchmark('livecodebench'), window).toExample(PROBLEM, 0);

    expect(example !== null).toBe(isKept);
  });

  test('dates are refused where examples have none', () => {
    const humaneval = findBenchmark('humaneval');

    expect(() => withinDates(humaneval, { startDate: '2025-01-01' })).toThrow('have no date');
  });
});

describe('bfcl', () => {
  const ROW = {
    id: 'live_parallel_3-1-0',
    question: [[{ role: 'user', content: 'Weather in Köln?' }]],
    function: [
      {
        name: 'weather.get',
        description: 'Größe.',
        parameters: {
          type: 'dict',
          properties: { city: { type: 'string', description: 'City' } },
          required: ['city'],
        },
      },
    ],
    ground_truth: [{ 'weather.get': { city: ['Köln'] } }],
  };

  test('declares the functions in the official prompt, as Python writes JSON', () => {
    const [system, user] = findBenchmark('bfcl').toExample(ROW, 0)?.messages ?? [];

    expect(system?.role).toBe('system');
    expect(system?.content).toMatch(/^You are an expert in composing functions\.You are given/);
    expect(system?.content).toContain(
      '"description": "Gr\\u00f6\\u00dfe. Note that the provided function is in Python 3 syntax."',
    );
    expect(user).toEqual({ role: 'user', content: 'Weather in Köln?' });
  });

  test('counts a score under its category, and the mean of categories as the leaderboard does', async () => {
    const benchmark = findBenchmark('bfcl');
    const { grader } = benchmark;
    const example = benchmark.toExample(ROW, 0);
    if (!example) throw new Error('no example');

    const score = await grader.grade('[weather.get(city="Köln")]', example);
    const summary = grader.summarize?.({
      'bfcl/simple_python': 1,
      'bfcl/simple_java': 0.5,
      'bfcl/multiple': 0.5,
      'bfcl/parallel': 0,
      'bfcl/parallel_multiple': 0.25,
    });

    expect(score.metrics).toEqual({ 'bfcl/live_parallel': 1, 'bfcl/live_ast': 1 });
    expect(summary?.['bfcl/non_live_ast']).toBeCloseTo((0.75 + 0.5 + 0 + 0.25) / 4);
  });

  test('floats of a row survive being kept with the example', () => {
    const row = { ...ROW, id: 'simple_0', ground_truth: parseJson('[{"f":{"x":[[1.0]]}}]') };

    const example = findBenchmark('bfcl_simple').toExample(row, 0);

    expect(example?.row?.['ground_truth']).toBe('[{"f":{"x":[[1.0]]}}]');
  });

  test('with tools, calls come back under the names of the row', async () => {
    const benchmark = findBenchmark('bfcl-tools');
    const example = benchmark.toExample(ROW, 0);
    if (!example) throw new Error('no example');
    const facts = { stopReason: 'stop', isMalformed: false, signal: new AbortController().signal } as const;
    const answer = (written: string | null) =>
      benchmark.environment?.(example).step(
        {
          role: 'assistant',
          content: written === null ? 'I cannot.' : '',
          ...(written !== null && { toolCalls: [{ name: 'weather_get', arguments: written }] }),
        },
        facts,
      );

    const seen = await benchmark.environment?.(example).initialObservation();

    expect(seen?.tools?.[0]).toMatchObject({
      name: 'weather_get',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    });
    expect(await answer('{"city": "Köln"}')).toMatchObject({ reward: 1, isDone: true });
    expect(await answer('{"city": "Bonn"}')).toMatchObject({ reward: 0 });
    expect(await answer(null)).toMatchObject({ reward: 0, answer: null });
  });
});
