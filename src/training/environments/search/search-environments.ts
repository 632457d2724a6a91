import { z } from 'zod';
import type { Message } from '../../../core/conversation';
import { DomainError } from '../../../core/errors';
import { placeOfRow } from '../../../datasets/row-place';
import { makeExampleId } from '../../../evaluation/example';
import { messageText } from '../../../evaluation/runner/message-text';
import type { EnvironmentDataset, EnvironmentGroup } from '../environment-dataset';
import { splitDataset } from '../listed-dataset';
import type { Tool } from '../tools/tool';
import { defineTool } from '../tools/tool';
import type { ToolGrade } from '../tools/tool-environment';
import { createToolEnvironment } from '../tools/tool-environment';
import { PassageIndex } from './passage-index';
import type { Question } from './search-rows';
import { readPassages, readQuestions } from './search-rows';
import { answerIn, isSameAnswer } from './text-answer';

export interface SearchOptions {
  readonly corpus: string;
  readonly questions: string;
  /** Fields of questions that say nothing to the model. */
  readonly ignoreKeys?: readonly string[] | undefined;
  readonly resultCount: number;
  readonly maxTurns: number;
  /** In place of the instructions; empty for none. */
  readonly systemPrompt?: string | undefined;
  readonly testSize: number;
  readonly limit?: number | undefined;
  readonly formatPenalty: number;
}

const INSTRUCTIONS = `You answer questions with the help of a search tool over a collection of documents.

1. Think about what you need to know, then call the tool with one or more queries.
2. Read what it finds. If something is missing, search again with better queries.
3. When you know the answer, write it behind "Answer:", in one to five words.`;

/** Questions to be answered with a search tool over a corpus of one's own; right answers as in SQuAD and Search-R1. */
export async function searchEnvironments(options: SearchOptions): Promise<EnvironmentDataset> {
  const index = new PassageIndex(await readPassages(options.corpus));
  const questions = await readQuestions(options.questions, options.ignoreKeys);
  requireFewSources(questions, options.questions);
  const tool = searchTool(index, options.resultCount);
  const { testSize, limit } = options;
  const groupOf = (question: Question) => groupOfQuestion(question, tool, options);
  return splitDataset('search', questions, { groupOf, testSize, limit });
}

/** Each has metrics of its own in every step. */
const MOST_SOURCES = 100;

function requireFewSources(questions: readonly Question[], path: string): void {
  const { size } = new Set(questions.map(({ source }) => source));
  if (size <= MOST_SOURCES) return;
  throw new DomainError(
    'bad-dataset',
    `environment.questions: ${path} has ${size} different data_source, of which ${MOST_SOURCES} at most can have metrics of their own. Name data_source in environment.ignoreKeys.`,
  );
}

/** Searches for several queries at once, as Search-R1's tool does. */
export function searchTool(index: PassageIndex, resultCount: number): Tool {
  return defineTool({
    name: 'search',
    description: 'Finds the documents of the collection that fit best to each query.',
    parameters: z.object({
      query_list: z
        .array(z.string().min(1))
        .min(1)
        .max(10)
        .describe('Queries, each a full phrase or question'),
    }),
    run: ({ query_list: queries }) =>
      queries.map((query) => `Query: ${query}\n${findingsOf(index, query, resultCount)}`).join('\n\n'),
  });
}

function findingsOf(index: PassageIndex, query: string, resultCount: number): string {
  const found = index.search(query, resultCount);
  if (found.length === 0) return 'No document found.';
  return found
    .map(({ passage }, position) => `Document ${position + 1}: ${passage.title}\n${passage.text}`)
    .join('\n');
}

function groupOfQuestion(question: Question, tool: Tool, options: SearchOptions): EnvironmentGroup {
  const { maxTurns, formatPenalty, systemPrompt = INSTRUCTIONS } = options;
  const instructions: Message[] = systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt }];
  const place = placeOfRow(question);
  return {
    id: makeExampleId('search', question.question),
    ...(place && { place }),
    tags: [question.source],
    tools: [tool.declaration],
    make: (_member, bounds) =>
      createToolEnvironment(
        {
          messages: [...instructions, { role: 'user', content: question.question }],
          tools: [tool],
          maxTurns,
          grade: (conversation) => gradeAnswer(conversation, question, formatPenalty),
        },
        bounds,
      ),
  };
}

function gradeAnswer(
  conversation: readonly Message[],
  { answers: expected }: Question,
  formatPenalty: number,
): ToolGrade {
  const last = conversation.at(-1);
  const answer = last?.role === 'assistant' ? answerIn(messageText(last)) : null;
  const correct = Number(answer !== null && isSameAnswer(answer, expected));
  const format = Number(answer !== null);
  return { reward: correct - formatPenalty * (1 - format), metrics: { correct, format }, answer };
}
