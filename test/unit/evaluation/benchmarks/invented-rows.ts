import type { Row } from '../../../../src/evaluation/graders/row-grader';

interface InventedRow {
  readonly row: Row;
  /** A reply that is right. */
  readonly gold: string;
  /** One that is wrong. */
  readonly wrong: string;
}

function contest(answer: string): InventedRow {
  const row = { problem_idx: 1, problem: 'Find it.', answer };
  return { row, gold: `Thus \\boxed{${answer}}.`, wrong: 'Thus \\boxed{5}.' };
}

/** A row in the shape of each benchmark's publisher, with our own text. */
export const INVENTED_ROWS: Readonly<Record<string, InventedRow>> = {
  arena_hard: {
    row: {
      question_id: 'a1',
      cluster: 'Poems',
      turns: [{ content: 'Rhyme.' }],
      baseline_answer: 'Cat, hat.',
    },
    gold: '',
    wrong: '',
  },
  arena_hard_v2: {
    row: { uid: 'b1', category: 'hard_prompt', prompt: 'Prove it.', baseline_answer: 'By induction.' },
    gold: '',
    wrong: '',
  },
  arithmetic: { row: { question: '31+58=', answer: '89' }, gold: '89', wrong: '88' },
  gsm8k: {
    row: { question: 'Ann has 3 pens and buys 4. How many?', answer: '3 + 4 = <<3+4=7>>7\n#### 7' },
    gold: 'She has \\boxed{7}.',
    wrong: 'She has \\boxed{8}.',
  },
  math500: {
    row: {
      problem: 'What is half of a half?',
      solution: 'It is $\\boxed{\\frac{1}{4}}$.',
      answer: '\\frac{1}{4}',
      subject: 'Counting & Probability',
      level: 3,
      unique_id: 'test/1.json',
    },
    gold: 'It is \\boxed{\\frac{1}{4}}.',
    wrong: 'It is \\boxed{4}.',
  },
  aime_2025: contest('42'),
  aime_2026: contest('007'),
  hmmt_feb_2025: contest('12'),
  hmmt_nov_2025: contest('\\frac{3}{4}'),
  mmlu_pro: {
    row: {
      question_id: 12,
      question: 'Which is a metal?',
      options: [
        'Iron',
        'Oxygen',
        'Helium',
        'Neon',
        'Argon',
        'Sulphur',
        'Iodine',
        'Xenon',
        'Radon',
        'Chlorine',
      ],
      answer: 'A',
      answer_index: 0,
      category: 'Computer Science',
    },
    gold: 'A',
    wrong: 'B',
  },
  mmlu_redux: {
    row: {
      _subject: 'college_physics',
      question: 'What falls fastest in a vacuum?',
      choices: ['A feather', 'A stone', 'A drop', 'All alike'],
      answer: 3,
      error_type: 'OK ',
    },
    gold: 'D',
    wrong: 'A',
  },
  gpqa: {
    row: {
      Question: 'Which particle carries no charge?\n',
      'Correct Answer': 'The neutron\n',
      'Incorrect Answer 1': 'The electron',
      'Incorrect Answer 2': 'The proton',
      'Incorrect Answer 3': 'The positron',
      'High-level domain': 'Physics',
    },
    gold: '{target}',
    wrong: 'none of them',
  },
  supergpqa: {
    row: {
      uuid: 'a1b2c3',
      question: 'Which river is in Egypt?',
      options: ['The Rhine', 'The Nile', 'The Volga', 'The Ganges', 'The Seine'],
      answer_letter: 'B',
      discipline: 'Literature and Arts',
      difficulty: 'easy',
    },
    gold: 'The answer is B.',
    wrong: 'The answer is C.',
  },
  ceval: {
    row: {
      _subject: 'logic',
      question: '下列哪个数最大？',
      A: '一',
      B: '二',
      C: '三',
      D: '四',
      answer: 'D',
    },
    gold: '答案是D。',
    wrong: '答案是A。',
  },
  ifeval: {
    row: {
      key: 77,
      prompt: 'Name a colour without commas.',
      instruction_id_list: ['punctuation:no_comma'],
      kwargs: [{}],
    },
    gold: 'Blue is a colour.',
    wrong: 'Blue, of course.',
  },
  longbench: {
    row: {
      _id: 'f00d',
      domain: 'Single-Document QA',
      difficulty: 'hard',
      length: 'short',
      question: 'What did the captain lose?',
      choice_A: 'His hat',
      choice_B: 'His ship',
      choice_C: 'His dog',
      choice_D: 'His map',
      answer: 'B',
      context: 'The captain lost his ship in a storm.',
    },
    gold: 'The correct answer is (B)',
    wrong: 'The correct answer is (C)',
  },
  humaneval: {
    row: {
      task_id: 'HumanEval/900',
      prompt: 'def add_two(n):\n    """The number after the next."""\n',
      entry_point: 'add_two',
      canonical_solution: '    return n + 2\n',
      test: 'def check(candidate):\n    assert candidate(3) == 5\n    assert candidate(-2) == 0\n',
    },
    gold: '```python\ndef add_two(n):\n    return n + 2\n```',
    wrong: '```python\ndef add_two(n):\n    return n + 1\n```',
  },
  mbpp: mbppTask(),
  mbpp_full: mbppTask(),
  livecodebench: contestTask(),
  livecodebench_full: contestTask(),
  bfcl: callTask(),
  bfcl_tools: callTask(),
  bfcl_simple: callTask(),
  bfcl_multiple: callTask(),
  bfcl_parallel: callTask(),
  bfcl_parallel_multiple: callTask(),
  bfcl_irrelevance: callTask(),
  bfcl_live: callTask(),
};

function contestTask(): InventedRow {
  const row = {
    question_id: 'double_1',
    question_content: 'Double the number.',
    contest_date: '2025-02-01T00:00:00',
    starter_code: '',
    difficulty: 'easy',
    public_test_cases: '[{"input": "3", "output": "6", "testtype": "stdin"}]',
    private_test_cases: '[]',
    metadata: '{}',
  };
  return {
    row,
    gold: '```python\nprint(2 * int(input()))\n```',
    wrong: '```python\nprint(int(input()))\n```',
  };
}

function callTask(): InventedRow {
  const properties = { city: { type: 'string', description: 'Where.' } };
  const parameters = { type: 'dict', properties, required: ['city'] };
  const row = {
    id: 'simple_7',
    question: [[{ role: 'user', content: 'How warm is it in Bonn?' }]],
    function: [{ name: 'weather', description: 'How warm it is.', parameters }],
    ground_truth: [{ weather: { city: ['Bonn'] } }],
  };
  return { row, gold: '[weather(city="Bonn")]', wrong: '[weather(city="Rome")]' };
}

function mbppTask(): InventedRow {
  const row = {
    task_id: 100,
    text: 'Write a function to double a number.',
    test_list: ['assert double(3) == 6', 'assert double(-1) == -2'],
    test_setup_code: '',
  };
  return {
    row,
    gold: '```python\ndef double(n):\n    return 2 * n\n```',
    wrong: '```python\ndef double(n):\n    return n\n```',
  };
}
