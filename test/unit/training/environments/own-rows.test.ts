import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentConfig } from '../../../../src/config/environment-config';
import type { Message } from '../../../../src/core/conversation';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { closeMathGraders } from '../../../../src/evaluation/graders/math/math-graders';
import { processSandboxes } from '../../../../src/sandboxes/process-sandboxes';
import { buildEnvironments } from '../../../../src/training/environments/build-environments';
import type {
  EnvironmentDataset,
  TrainingStep,
} from '../../../../src/training/environments/environment-dataset';
import type { WrittenColumn } from '../../datasets/parquet-writer';
import { ENCODINGS, TYPES, uint32, writeParquet } from '../../datasets/parquet-writer';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'own-rows-'));
});

afterAll(async () => {
  await closeMathGraders();
  await processSandboxes.close();
  rmSync(folder, { recursive: true, force: true });
});

function build(
  type: 'math' | 'code' | 'search',
  path: string,
  more: object = {},
): Promise<EnvironmentDataset> {
  const files =
    type === 'search' ? { corpus: written([{ text: 'Tom.' }], 'corpus'), questions: path } : { path };
  return buildEnvironments(EnvironmentConfig.parse({ type, testSize: 0, ...files, ...more }), {
    plugins: NO_PLUGINS,
    seed: 0,
    readBenchmarkRows: () => Promise.reject(new Error('nothing is read from elsewhere')),
  });
}

function written(rows: readonly object[], name = 'rows'): string {
  const path = join(folder, `${name}.jsonl`);
  writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
  return path;
}

const ROWS = {
  math: { problem: 'How much is left?', answer: '1' },
  code: { prompt: 'Write f.', test_list: ['assert f(1) == 1'] },
  search: { question: 'How much is left?', answer: 'one' },
};

async function asked(dataset: EnvironmentDataset): Promise<readonly Message[]> {
  return (await dataset.groupAt(0).make(0).initialObservation()).messages;
}

async function answered(dataset: EnvironmentDataset, content: string): Promise<TrainingStep> {
  const { signal } = new AbortController();
  const environment = dataset.groupAt(0).make(0);
  await environment.initialObservation();
  return environment.step({ role: 'assistant', content }, { stopReason: 'stop', isMalformed: false, signal });
}

describe('what a row says beside its question', () => {
  const names = {
    math: [
      ...['context', 'passage', 'table', 'story', 'premise', 'premises', 'instructions', 'description'],
      ...[
        'examples',
        'text',
        'unit',
        'units',
        'background',
        'given',
        'figure',
        'article',
        'document',
        'Body',
      ],
      ...['facts', 'narrative', 'data', 'diagram', 'code', 'Problem Statement', 'schema'],
    ],
    code: [
      ...['context', 'description', 'constraints', 'examples', 'input_format', 'output_format', 'notes'],
      ...['title', 'signature', 'code_context', 'public_tests', 'header', 'sampleInputs', 'Sample-Outputs'],
    ],
    search: ['passage', 'story', 'documents', 'title'],
  };
  const cases = (['math', 'code', 'search'] as const).flatMap((type) =>
    names[type].map((name) => [type, name] as const),
  );

  test.each(cases)('%s refuses "%s" by file and line, with both remedies', async (type, name) => {
    const path = written([{ ...ROWS[type], [name]: ['Tom has 3 apples.'] }]);

    const building = build(type, path);

    await expect(building).rejects.toThrow(
      new RegExp(
        `rows\\.jsonl line 1: field "${name}": it would not be asked: .* is\\. Put it there, remove it, ` +
          'or name it in environment\\.ignoreKeys if it says nothing to the model\\.',
      ),
    );
  });

  test.each(cases)('%s reads a row with "%s" where ignoreKeys names it', async (type, name) => {
    const path = written([{ ...ROWS[type], [name]: ['Tom has 3 apples.'] }]);

    expect(await build(type, path, { ignoreKeys: [name] })).toHaveLength(1);
  });

  test.each([
    ['math', { context: null, table: [], figure: '', unit: ' ', facts: [{ text: '' }] }],
    ['math', { context: 'left', units: ['How', 'much'], text: 'How much is left?' }],
    ['math', { solution: 'Two went.', rationale: 'r', level: 5, type: 'Algebra', subject: 's', source: 'u' }],
    ['math', { generations: ['g'], difficulty: 3, year: 2024, url: 'u', id: 'i', time_limit: 2 }],
    ['code', { code: 'def f(n): return n', title: 'Write f', time_limit: 2, difficulty: 'easy' }],
    ['search', { context: 'Tom had two.', data_source: 'nq', Context: 'Tom.' }],
  ] as const)(
    '%s reads what is empty, stands in the question or is about the answer: %j',
    async (type, more) => {
      expect(await build(type, written([{ ...ROWS[type], ...more }]))).toHaveLength(1);
    },
  );

  test('a conversation that repeats the question may not say anything more', async () => {
    const said = { role: 'user', content: ROWS.math.problem };
    const other = { role: 'system', content: 'In French.' };

    expect(await build('math', written([{ ...ROWS.math, messages: [said] }]))).toHaveLength(1);
    for (const messages of [
      [other, said],
      [said, { role: 'assistant', content: 'Two?' }, said],
      [{ role: 'user', content: `Round down. ${said.content}` }],
    ]) {
      await expect(build('math', written([{ ...ROWS.math, messages }]))).rejects.toThrow(
        /field "messages": it would not be asked/,
      );
    }
  });
});

describe('two answers', () => {
  test.each([
    [{ answer: '1', final_answer: '2' }, '"answer" and "final_answer"'],
    [{ answer: '1', expected_answer: 2 }, '"answer" and "expected_answer"'],
    [{ answer: '1', reward_model: { ground_truth: '2' } }, '"answer" and "reward_model.ground_truth"'],
    [{ answer: '5', solution: 'So \\boxed{4}.' }, '"answer" and "solution"'],
    [{ answer: '#### 5', solution: 'It is $\\boxed{\\frac{9}{2}}$' }, '"answer" and "solution"'],
    [{ answer: '5', solution: '2 + 2 is\n#### 4' }, '"answer" and "solution"'],
    [{ reward_model: { ground_truth: '35' }, solution: '34' }, '"reward_model.ground_truth" and "solution"'],
    [{ answer: '5', target: 4 }, '"answer" and "target"'],
    [{ answer: '5', label: '4' }, '"answer" and "label"'],
    [{ answer: '5', answers: ['$4.50'] }, '"answer" and "answers"'],
    [{ answer: '5', extra_info: { answer: 'So\n#### 1,004' } }, '"answer" and "extra_info.answer"'],
    [{ answer: '5', correct_answer: '-5' }, '"answer" and "correct_answer"'],
  ])('that differ are refused by row: %j', async (answers, fields) => {
    await expect(build('math', written([{ problem: 'Half of 2?', ...answers }]))).rejects.toThrow(
      `rows.jsonl line 1: fields ${fields} give two answers that differ.`,
    );
  });

  test.each([
    ['5', '\\boxed{5\\text{ cm}}'],
    ['5 m', '\\boxed{500\\text{ cm}}'],
    ['0.5', '\\boxed{50\\%}'],
    ['50', '\\boxed{0.5\\%}'],
    ['1/2', '\\boxed{0.50}'],
    ['3', '\\boxed{x = 4}'],
    ['B', '\\boxed{4}'],
    ['5', 'Add 4'],
    ['5', '#### five'],
    ['0.5', '1/2'],
    ['\\sqrt{2}', '\\boxed{4}'],
    ['5', 'First \\boxed{2}, which gives \\boxed{4}.'],
    ['5', 'Put it in \\boxed{}.'],
    ['proof', '\\boxed{4}'],
  ])(
    'of a solution in another form, or in several boxes, are not refused: %s, %s',
    async (answer, solution) => {
      const rows = [ROWS.math, { problem: 'Half of 2?', answer, solution }];

      expect((await build('math', written(rows))).length).toBeGreaterThan(0);
    },
  );

  test('that say the same are one, and one that ignoreKeys names is none', async () => {
    const same = written([{ problem: 'Half of 2?', answer: 'It is\n#### 1', final_answer: ' 1 ' }]);
    expect(await build('math', same)).toHaveLength(1);
    const digits = { answer: '1,234', final_answer: '1234.0', target: '1 234', label: 0, reference: 'p. 7' };
    expect(await build('math', written([{ problem: 'How many?', ...digits }]))).toHaveLength(1);

    const two = written([{ problem: 'Half of 2?', answer: '1', final_answer: '2' }]);
    const dataset = await build('math', two, { ignoreKeys: ['answer'] });
    expect(await answered(dataset, '\\boxed{2}')).toMatchObject({ reward: 1 });
  });
});

describe('the answer', () => {
  const right = async (row: object, reply: string) => {
    const dataset = await build('math', written([{ problem: 'How many?', ...row }]));
    return (await answered(dataset, reply)).reward;
  };

  test.each([
    ['#### 72', '72'],
    ['24*3=72\n#### 72', '72'],
    ['x = 4\n#### -5', '-5'],
    ['She has 24*3=72 left over now\n#### 1,072', '1072'],
    ['["7"]', '7'],
  ])('of %j is %s', async (answer, boxed) => {
    expect(await right({ answer }, `\\boxed{${boxed}}`)).toBe(1);
  });

  test('of a list of one text is that text, in a list of verl too, and of several is refused', async () => {
    expect(await right({ answer: ['7'] }, '\\boxed{7}')).toBe(1);
    expect(await right({ reward_model: { ground_truth: '["7"]' } }, '\\boxed{7}')).toBe(1);
    await expect(right({ answer: '["7", "8"]' }, '')).rejects.toThrow(
      'field "answer": has to be one answer, a text.',
    );
  });

  test.each([
    ['\\boxed{1}, \\boxed{2}', '\\boxed{1, 2}', '\\boxed{2}'],
    ['$\\boxed{1}$ and $\\boxed{2}$.', '\\boxed{2} and \\boxed{1}', '\\boxed{1}'],
    ['First \\boxed{1}. Then we get \\boxed{2}', '\\boxed{2}', '\\boxed{1, 2}'],
    ['Put it in \\boxed{answer}: it is \\boxed{7', '\\boxed{7}', '\\boxed{8}'],
  ])('of the solution %s is that of a reply', async (solution, good, bad) => {
    expect(await right({ solution }, good)).toBe(1);
    expect(await right({ solution }, bad)).toBeLessThan(1);
  });

  test('of a search may stand with its other words in an object (TriviaQA)', async () => {
    const answer = {
      ...{ aliases: ['Sunset Blvd'], matched_wiki_entity_name: 'x', normalized_aliases: ['n'] },
      ...{ normalized_value: 'sunset boulevard', type: 'WikipediaEntity', value: 'Sunset Boulevard' },
    };
    for (const given of [answer, JSON.stringify(answer)]) {
      const row = { question: 'Who?', answer: given, answer_aliases: ['The film'] };
      const dataset = await build('search', written([row]));

      for (const [said, reward] of [
        ['Sunset Boulevard', 1],
        ['sunset blvd', 1],
        ['film', 1],
        ['WikipediaEntity', 0],
      ] as const)
        expect(await answered(dataset, `Answer: ${said}`)).toMatchObject({ reward });
    }
    await expect(
      build('search', written([{ question: 'Who?', answer: { aliases: ['a'] } }])),
    ).rejects.toThrow(/line 1: field "answer": has to be a text/);
  });

  test('of a proof is none: the row is left out', async () => {
    const rows = ['7', 'proof', 'notfound'].map((answer) => ({ problem: `Why ${answer}?`, answer }));

    expect(await build('math', written(rows))).toHaveLength(1);
  });

  test('of a search may have other words', async () => {
    const row = { question: 'Who?', answer: 'Tom', answer_aliases: ['Thomas Smith', 'the'] };
    const dataset = await build('search', written([row]));

    expect(await answered(dataset, 'Answer: Thomas Smith')).toMatchObject({ reward: 1 });
  });
});

describe('conversations', () => {
  const prompt = [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'Solve 30+4. Write "Answer: " and the number.' },
  ];
  const verl = {
    ...{ data_source: 'math_dapo', prompt, ability: 'MATH' },
    reward_model: { ground_truth: '34', style: 'rule' },
    extra_info: { index: '9', split: 'train', question: 'Solve' },
  };

  test.each([
    ['verl', verl],
    ['verifiers', { prompt, answer: '34' }],
    ['messages', { messages: prompt, answer: 34 }],
    ['a table', { prompt: JSON.stringify(prompt), reward_model: JSON.stringify(verl.reward_model) }],
  ])('math asks that of %s as it stands, and nothing before it', async (_name, row) => {
    const dataset = await build('math', written([row]));

    expect(await asked(dataset)).toEqual(prompt);
    expect(await answered(dataset, 'Answer: 34')).toMatchObject({ reward: 1, metrics: { format: 1 } });
    expect(await answered(dataset, 'Answer: 35')).toMatchObject({ reward: 0 });
  });

  test('a text under "prompt" is the question where no other is', async () => {
    const { prompt: words, ...rest } = { ...verl, prompt: 'Solve 30+4.' };
    const source = [{ role: 'user', content: `Be short. ${words}` }];
    const dataset = await build(
      'math',
      written([{ ...rest, prompt: words, solution: '34', source_prompt: source }]),
    );

    expect((await asked(dataset)).at(-1)).toEqual({ role: 'user', content: words });
    expect(await answered(dataset, '\\boxed{34}')).toMatchObject({ reward: 1 });
    await expect(build('math', written([{ ...ROWS.math, prompt: 'Another.' }]))).rejects.toThrow(
      'field "prompt": it would not be asked',
    );
  });

  test('a row that is a list of messages says how to write it', async () => {
    const path = join(folder, 'orz.json');
    const row = [
      { from: 'human', value: 'Half of 2?' },
      { from: 'assistant', ground_truth: { value: '1' } },
    ];
    writeFileSync(path, JSON.stringify([row, [1]]));

    await expect(build('math', path)).rejects.toThrow(
      /row 1: a row has to be a JSON object, and this is a list of messages\. Write \{"messages".*under "answer"\.\n.*row 2: a row has to be a JSON object\.\n/,
    );
  });

  test('what the config puts before a question stands before them too', async () => {
    const dataset = await build('math', written([{ prompt: prompt.slice(1), answer: '34' }]), {
      systemPrompt: 'In French.',
    });

    expect(await asked(dataset)).toEqual([{ role: 'system', content: 'In French.' }, prompt[1]]);
  });

  test('rows of verl in Parquet are read', async () => {
    const path = join(folder, 'dapo.parquet');
    writeFileSync(
      path,
      writeParquet(1, [
        textColumn('prompt', JSON.stringify(prompt)),
        textColumn('reward_model', JSON.stringify(verl.reward_model)),
        textColumn('ability', 'MATH'),
      ]),
    );

    const dataset = await build('math', path);

    expect(await asked(dataset)).toEqual(prompt);
    expect(await answered(dataset, 'Answer: 34')).toMatchObject({ reward: 1 });
  });

  test('code asks one under "prompt" as one under "messages"', async () => {
    const said = [{ role: 'user', content: 'Write two.' }];
    const check = { entry_point: 'two', test: 'def check(c):\n    assert c() == 2' };
    const dataset = await build('code', written([{ prompt: said, ...check }]));

    expect(await asked(dataset)).toEqual(said);
    const program = '```python\ndef two():\n    return 2\n```';
    expect(await answered(dataset, program)).toMatchObject({ reward: 1 });
  });

  const replied = [...prompt, { role: 'assistant', content: '34' }];

  test.each([
    ['math', { prompt: replied, answer: '34' }, 'prompt'],
    ['math', { messages: replied, answer: '34' }, 'messages'],
    ['code', { messages: replied, test_list: ['assert f(1)'] }, 'messages'],
  ] as const)('%s refuses one that ends with a reply: %j', async (type, row, field) => {
    await expect(build(type, written([row]))).rejects.toThrow(
      `line 1: field "${field}": ends with a message of role assistant`,
    );
  });

  test('a key of a message that nobody reads is named with the remedy that works', async () => {
    const said = [{ role: 'user', content: 'Solve 30+4.', mood: 'glad' }];

    await expect(build('math', written([{ prompt: said, answer: '34' }]))).rejects.toThrow(
      /unknown field "prompt\[0\]\.mood".*name it in environment\.ignoreKeys/,
    );
    expect(
      await build('math', written([{ prompt: said, answer: '34' }]), { ignoreKeys: ['mood'] }),
    ).toHaveLength(1);
  });
});

describe('what judges nothing', () => {
  test.each(['x\n####', '####  ', 'The answer is', 'Answer: ', '?', '...'])(
    'the reference %j is refused by row',
    async (answer) => {
      await expect(build('math', written([{ problem: 'Half of 2?', answer }]))).rejects.toThrow(
        /line 1: no answer found in the reference/,
      );
    },
  );

  test.each(['It is\n#### 5', '-1', '{}', '\\emptyset', 'no answer'])(
    'the reference %j is read',
    async (answer) => {
      expect(await build('math', written([{ problem: 'Half of 2?', answer }]))).toHaveLength(1);
    },
  );

  test.each(['print(f(1))', ' print(f("a)"), (1)) # see', 'print(f(1));'])(
    'the listed test %j is refused by row',
    async (listed) => {
      const row = { prompt: 'Write f.', test_list: ['assert f(1) == 1', listed] };

      await expect(build('code', written([row]))).rejects.toThrow(
        /line 1: field "test_list": .* prints and tests nothing. Write an assertion/,
      );
    },
  );

  test.each(['print(f(1)) or g(1 / f(1))', 'print(f(1)); assert f(1) == 1', 'f(1)', 'print(f(1)), g(2)'])(
    'the listed test %j is taken',
    async (listed) => {
      expect(await build('code', written([{ prompt: 'Write f.', test_list: [listed] }]))).toHaveLength(1);
    },
  );
});

describe('bad rows of a file', () => {
  test('are refused together: the first five by line, and how many there are', async () => {
    const { problem } = ROWS.math;
    const path = written([ROWS.math, ...Array.from({ length: 6 }, () => ({ problem })), ROWS.math, [1]]);
    writeFileSync(path, `{"problem"\n${readFileSync(path, 'utf8')}`);

    const building = build('math', path);

    await expect(building).rejects.toMatchObject({ code: 'bad-dataset' });
    await expect(building).rejects.toThrow(
      new RegExp(
        String.raw`^math: \S*rows\.jsonl has 8 bad rows of 10:\n  - line 1: [^\n]*JSON[^\n]*` +
          [3, 4, 5, 6]
            .map((line) => String.raw`\n  - line ${line}: A row of mathematics needs "answer"[^\n]*`)
            .join('') +
          String.raw`\n  - and 3 more: 7, 8, 10\nCorrect the rows\.$`,
      ),
    );
  });

  test('of questions are, too', async () => {
    const path = written([ROWS.search, { question: '?' }, { question: 'Who?' }]);

    await expect(build('search', path)).rejects.toThrow(
      /rows\.jsonl has 2 bad rows of 3:\n {2}- line 2: field "question": .*\n {2}- line 3: field "answer": is missing\.\nCorrect the rows\. Questions have rows of question and answer\.$/,
    );
  });
});

function textColumn(name: string, text: string): WrittenColumn {
  const bytes = Buffer.from(text);
  const packed = Buffer.concat([uint32(bytes.length), bytes]);
  const page = { type: 'data', size: packed.length, count: 1, encoding: ENCODINGS.plain, packed } as const;
  return { name, codec: 0, type: TYPES.text, pages: [page] };
}
