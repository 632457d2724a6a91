import type { SupervisedConfig } from '../config/supervised-config';
import type { RenderedExample } from '../core/conversation';
import type { CountedRow, DataSummary } from '../core/data-summary';
import { DataTotals } from '../core/data-summary';
import { DomainError } from '../core/errors';
import { countText } from '../core/metrics/counted-text';
import type { Tokenizer } from '../core/tokenizer';
import { inTurns, TooManyTokens } from '../core/tokenizer';
import type { ConversationRow } from '../datasets/dataset';
import { toDatum } from '../datasets/to-datum';
import { conversationWithTools } from '../renderers/conversation-with-tools';
import type { Renderer } from '../renderers/renderer';
import type { PreparedExample } from './prepared-data';

export interface ExampleContext {
  readonly config: SupervisedConfig;
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
  /** Tokens the model can read; null where the service does not say. */
  readonly contextLength: number | null;
  /** Called now and then, so that long preparations stay alive and can be stopped. */
  readonly onProgress: (done: number) => void;
  readonly signal?: AbortSignal;
}

export interface PreparedExamples {
  readonly examples: readonly PreparedExample[];
  readonly summary: DataSummary;
}

/** Rows; others work in the same process, training steps of another run among them. */
const PAUSE_EVERY = 16;

/**
 * Renders conversations into training sequences.
 *
 * An example longer than the model's context is refused unless `maxLength` says that it may be cut.
 */
export async function prepareExamples(
  rows: readonly ConversationRow[],
  context: ExampleContext,
): Promise<PreparedExamples> {
  const limit = lengthLimit(context);
  const examples: PreparedExample[] = [];
  const totals = new DataTotals();
  for (const [index, row] of rows.entries()) {
    const { example, ...read } = await prepareRow({ row, index, limit }, context);
    examples.push(example);
    totals.add(read);
    if (index % PAUSE_EVERY === PAUSE_EVERY - 1) {
      context.onProgress(index + 1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  if (examples.every(({ counted }) => !counted.includes(1))) {
    throw new DomainError(
      'bad-dataset',
      `dataset: no token of any example carries loss with trainOnWhat "${context.config.trainOnWhat}". Choose another trainOnWhat, or check that the conversations have assistant messages.`,
    );
  }
  return { examples, summary: totals.summary(context.config.batchSize) };
}

export interface PreparedRow extends CountedRow {
  readonly example: PreparedExample;
  /** Before it was cut. */
  readonly fullLength: number;
}

interface RowToPrepare {
  readonly row: ConversationRow;
  readonly index: number;
  readonly limit: number;
}

/** What a row is trained as: its tokens that are read or predicted, and the weight of each. */
export async function prepareRow(
  { row, index, limit }: RowToPrepare,
  context: ExampleContext,
): Promise<PreparedRow> {
  const rule = { place: placeOf(row, index), limit, isCutAllowed: context.config.maxLength !== undefined };
  const rendered = await render(row, rule, context);
  checkLength(rendered, rule);
  const { tokens, weights } = rendered;
  return {
    tokens: tokens.slice(0, limit),
    weights: weights.slice(0, limit),
    cut: tokens.length > limit,
    fullLength: tokens.length,
    example: prepareExample(rendered, limit, context),
  };
}

export function lengthLimit({ config, contextLength }: ExampleContext): number {
  const { maxLength } = config;
  if (maxLength !== undefined && contextLength !== null && maxLength > contextLength) {
    throw new DomainError(
      'bad-config',
      `maxLength: ${maxLength} is more than the ${contextLength} tokens ${config.model} can read. Use at most ${contextLength}.`,
    );
  }
  return maxLength ?? contextLength ?? Number.MAX_SAFE_INTEGER;
}

interface LengthRule {
  readonly place: string;
  readonly limit: number;
  readonly isCutAllowed: boolean;
}

function placeOf(row: ConversationRow, index: number): string {
  return `example ${index + 1}${row.place === undefined ? '' : ` (${row.place})`}`;
}

/** One that is too long for certain is refused before it is turned into tokens. */
async function render(
  row: ConversationRow,
  rule: LengthRule,
  { renderer, tokenizer, config, signal }: ExampleContext,
): Promise<RenderedExample> {
  const conversation = conversationWithTools(renderer, row.messages, row.tools);
  const work = () => renderer.buildSupervisedExample(conversation, config.trainOnWhat);
  const limits = { mostTokens: rule.limit, isCutAllowed: rule.isCutAllowed, ...(signal && { signal }) };
  return inTurns(tokenizer, work, limits).catch((error: unknown) => {
    throw error instanceof TooManyTokens ? tooLong(`at least ${error.leastTokens}`, rule) : error;
  });
}

function checkLength({ tokens }: RenderedExample, rule: LengthRule): void {
  if (tokens.length <= rule.limit || rule.isCutAllowed) return;
  throw tooLong(String(tokens.length), rule);
}

function tooLong(tokens: string, { place, limit }: LengthRule): DomainError {
  return new DomainError(
    'bad-dataset',
    `dataset: ${place} has ${tokens} tokens and the model reads ${limit}. Set maxLength: ${limit} to cut such examples, or shorten them.`,
  );
}

function prepareExample(rendered: RenderedExample, limit: number, context: ExampleContext): PreparedExample {
  const datum = toDatum(rendered, { maxLength: limit, reduction: context.config.lossReduction });
  return { datum, ...countText(context.tokenizer, datum.targetTokens, datum.lossInputs['weights'] ?? []) };
}
