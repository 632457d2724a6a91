import { makeExampleId } from '../example';
import { isRow, lacking, textField } from '../graders/row-fields';
import type { Row } from '../graders/row-grader';
import { judgedGrader } from '../judges/judged-grader';
import type { ArenaHardOptions } from '../judges/methods/arena-hard';
import { arenaHardMethod } from '../judges/methods/arena-hard';
import { baselineAnswersFrom } from './arena-hard-baselines';
import type { Benchmark, HubRows } from './benchmark';
import { GENERATION } from './benchmark';
import { fieldsOf } from './questions/row-parts';

const HUB = 'lmarena-ai/arena-hard-auto';

interface Release extends ArenaHardOptions {
  readonly description: string;
  readonly published: string;
  readonly data: HubRows;
}

/** Arena-Hard-Auto v0.1 (Li et al., 2024): 500 hard questions against answers of gpt-4-0314. */
export const arenaHard = arenaHardRelease({
  name: 'arena_hard',
  maxTokens: 4096,
  description:
    'Arena-Hard-Auto v0.1: 500 questions, answers compared with those of gpt-4-0314 by a judge, both orders',
  published: 'the v0.1 leaderboard, whose judge is gpt-4-1106-preview',
  data: {
    hub: HUB,
    revision: null,
    split: 'train',
    files: ['data/arena-hard-v0.1/question.jsonl'],
    completeFrom: baselineAnswersFrom,
  },
});

/** Arena-Hard v2.0: 500 hard questions against o3-mini-2025-01-31 and 250 of creative writing against gemini-2.0-flash-001. */
export const arenaHardV2 = arenaHardRelease({
  name: 'arena_hard_v2',
  maxTokens: 16_000,
  description:
    'Arena-Hard v2.0: 500 hard questions and 250 of creative writing, compared with o3-mini and gemini-2.0-flash by a judge, both orders',
  published:
    'the v2.0 leaderboards, one a category (see the metrics), whose judges are gpt-4.1 and gemini-2.5',
  data: {
    hub: HUB,
    revision: null,
    split: 'train',
    files: ['data/arena-hard-v2.0/question.jsonl'],
    local: ['arena_hard_v2/data.jsonl', 'arena_hard/v2.jsonl'],
    completeFrom: baselineAnswersFrom,
  },
});

function arenaHardRelease({ name, maxTokens, description, published, data }: Release): Benchmark {
  return {
    name,
    version: 1,
    description,
    comparableWith: `Scores without style control of ${published}; another judge gives another score. Intervals of 95 % draw questions; the official one of 90 %, which draws battles, is among the metrics.`,
    data,
    orderSeed: 42,
    toExample(row) {
      const question = questionOf(row);
      return {
        id: makeExampleId(name, question),
        messages: [{ role: 'user', content: question }],
        target: null,
        row: {
          question_id: textField(row, ['question_id', 'uid']),
          ...fieldsOf(row, ['category', 'subcategory', 'cluster', 'baseline', 'baseline_answer']),
        },
      };
    },
    generation: { ...GENERATION, temperature: 0 },
    grader: judgedGrader(arenaHardMethod({ name, maxTokens })),
    metric: 'win_rate',
  };
}

/** `prompt`, or the first of `turns` as in earlier files. */
function questionOf(row: Row): string {
  const turns = row['turns'];
  const first: unknown = Array.isArray(turns) ? turns[0] : undefined;
  const content = isRow(first) ? first['content'] : first;
  if (typeof content === 'string') return content;
  if (typeof row['prompt'] === 'string') return row['prompt'];
  throw lacking(['prompt', 'turns'], 'text');
}
