import type { MessageEnvironment } from '../../core/environment';
import type { Message, ToolCall } from '../../core/conversation';
import { writeJson } from '../../core/whole-floats';
import type { Example } from '../example';
import { bfcl as bfclRows } from '../graders/bfcl/bfcl';
import type { Grader } from '../graders/grader';
import type { Row } from '../graders/row-grader';
import { textField } from '../graders/row-fields';
import { messageText } from '../runner/message-text';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { promptedMessages, questionMessages, toolsOf } from './questions/bfcl-prompt';
import { fieldsOf } from './questions/row-parts';
import { rowsByGroup } from './questions/scored-by-group';

/** Categories that calls alone decide, as the third release names its files. */
const FILES = {
  simple: ['simple', 'java', 'javascript'],
  multiple: ['multiple'],
  parallel: ['parallel'],
  parallel_multiple: ['parallel_multiple'],
  irrelevance: ['irrelevance'],
  live: [
    'live_simple',
    'live_multiple',
    'live_parallel',
    'live_parallel_multiple',
    'live_irrelevance',
    'live_relevance',
  ],
} satisfies Record<string, readonly string[]>;

const LIVE_CALLS = /^live_(?!irrelevance|relevance)/;
const CALL_CATEGORIES = ['multiple', 'parallel', 'parallel_multiple'];
const SIMPLE_CATEGORIES = ['simple_python', 'simple_java', 'simple_javascript'];

const GRADER: Grader = {
  ...rowsByGroup('bfcl', bfclRows, (row) => {
    const category = categoryOf(textField(row, ['id']));
    return [category, LIVE_CALLS.test(category) ? 'live_ast' : null];
  }),
  summarize: withNonLive,
};

/** Function calls of the Berkeley leaderboard (Patil et al., 2025) that an AST check decides. */
export const bfcl: Benchmark = declare({
  name: 'bfcl',
  categories: Object.values(FILES).flat(),
  what: 'all single-turn categories that are judged by their calls',
});

/** The same with the functions declared as tools, for services and prompt formats that know them. */
export const bfclTools: Benchmark = {
  ...declare({
    name: 'bfcl_tools',
    categories: Object.values(FILES).flat(),
    what: 'all single-turn categories, the functions declared as tools',
  }),
  toExample(row) {
    const id = textField(row, ['id']);
    return {
      id,
      messages: questionMessages(row),
      target: null,
      row: judgedFields(row),
    };
  },
  environment: toolEnvironment,
};

/** Parts of it under names of their own. */
export const BFCL_PARTS: readonly Benchmark[] = Object.entries(FILES).map(([part, categories]) =>
  declare({ name: `bfcl_${part}`, categories, what: categories.join(', ') }),
);

interface Part {
  readonly name: string;
  readonly categories: readonly string[];
  readonly what: string;
}

function declare({ name, categories, what }: Part): Benchmark {
  return {
    name,
    version: 1,
    description: `Function calls of the Berkeley leaderboard, no shots: ${what}`,
    comparableWith:
      '`bfcl/non_live_ast` and `bfcl/live_ast` compare with the columns of the leaderboard in prompting mode (with bfcl_tools: in FC mode). The accuracy is over all examples, which is no column of it.',
    data: {
      hub: 'gorilla-llm/Berkeley-Function-Calling-Leaderboard',
      revision: null,
      split: 'train',
      files: categories.flatMap((category) => [
        `BFCL_v3_${category}.json`,
        ...(category.includes('relevance') ? [] : [`possible_answer/BFCL_v3_${category}.json`]),
      ]),
      joinBy: 'id',
    },
    orderSeed: 42,
    toExample(row) {
      const id = textField(row, ['id']);
      return {
        id,
        messages: promptedMessages(row, id),
        target: null,
        row: judgedFields(row),
      };
    },
    // The leaderboard's own.
    generation: { ...GENERATION, temperature: 0.001 },
    grader: GRADER,
  };
}

/** Examples are kept as plain JSON, which does not know `5.0`; its text does. */
function judgedFields(row: Row): Row {
  const { ground_truth: accepted } = row;
  return {
    ...fieldsOf(row, ['id', 'function']),
    ...(accepted !== undefined && { ground_truth: writeJson(accepted) }),
  };
}

/** `live_simple_3-1-0` → `live_simple`; names of the third release as those of the fourth. */
function categoryOf(id: string): string {
  const category = id.replace(/_\d[\d-]*$/, '');
  if (category === 'simple') return 'simple_python';
  return /^java/.test(category) ? `simple_${category}` : category;
}

/** The leaderboard's column: categories count the same, however many examples they have, and so do the languages of `simple`. */
function withNonLive(means: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const found = (names: readonly string[]) =>
    names.flatMap((name) => (means[`bfcl/${name}`] === undefined ? [] : [means[`bfcl/${name}`] ?? 0]));
  const simple = meanOf(found(SIMPLE_CATEGORIES));
  const parts = found(CALL_CATEGORIES);
  if (simple === null || parts.length < CALL_CATEGORIES.length) return means;
  return { ...means, 'bfcl/non_live_ast': meanOf([simple, ...parts]) ?? 0 };
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** One turn; what the model calls is judged, and text counts as no call. */
function toolEnvironment(example: Example): MessageEnvironment {
  const { tools, names } = toolsOf(example.row ?? {}, example.id);
  return {
    initialObservation: () => ({ messages: example.messages, tools }),
    async step(action) {
      const score = await GRADER.grade(callsText(action, names), example);
      return {
        reward: score.value,
        isDone: true,
        nextMessages: [],
        answer: score.answer,
        metrics: { ...score.metrics },
        logs: { explanation: score.explanation },
      };
    },
  };
}

function callsText(action: Message, names: ReadonlyMap<string, string>): string {
  const { toolCalls = [] } = action;
  if (toolCalls.length === 0) return messageText(action);
  const written = toolCalls.map(
    ({ name, arguments: given }: ToolCall) =>
      `{"name": ${JSON.stringify(names.get(name) ?? name)}, "arguments": ${given.trim() || '{}'}}`,
  );
  return `[${written.join(', ')}]`;
}
