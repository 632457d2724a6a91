import type { SupervisedConfig } from '../config/supervised-config';
import type { RenderedExample } from '../core/conversation';
import type { CountedRow, DataSummary } from '../core/data-summary';
import { DataTotals } from '../core/data-summary';
import { DomainError } from '../core/errors';
import { countText } from '../core/metrics/counted-text';
import type { Tokenizer } from '../core/tokenizer';
import { inTurns, TooManyTokens } from '../core/tokenizer';
import type { ConversationRow } from '../datasets/dataset';
import { describeTruncation, toDatum } from '../datasets/to-datum';
import { renderWithTools } from '../renderers/conversation-with-tools';
import type { Renderer } from '../renderers/renderer';
import { countEmptyReplies } from './empty-replies';
import type { PreparedExample } from './prepared-data';
import { hasUnnamedCall } from './unnamed-calls';

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
  /** Rows that were left out because `onBadRow` is `skip`. */
  readonly refused: readonly RefusedRow[];
  /** Where the rows stand whose whole loss `maxLength` cuts off. */
  readonly lossGone: readonly string[];
  /** Where the rows stand of which no token carries loss. */
  readonly lossless: readonly string[];
  /** Where the rows stand that have a reply with loss and nothing in it. */
  readonly speechless: readonly string[];
  /** Where the rows stand that call a tool by an id which does not name it, and is written in place of the name. */
  readonly unnamed: readonly string[];
}

export interface RefusedRow {
  readonly place: string;
  readonly reason: string;
  /** Bad rows behind it that are not listed. */
  readonly others?: number;
}

/** An example that trains nothing, and whether it would have in full length. */
type Loss = 'some' | 'gone' | 'none';

/** Rows; others work in the same process, training steps of another run among them. */
const PAUSE_EVERY = 16;
const LEAST_TOKENS = 2;

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
  const refused: RefusedRow[] = [];
  const places: Record<Loss, string[]> = { some: [], gone: [], none: [] };
  const words: Record<'speechless' | 'unnamed', string[]> = {
    speechless: [],
    unnamed: [],
  };
  const totals = new DataTotals();
  for (const [index, row] of rows.entries()) {
    const read = await prepareRow({ row, index, limit }, context);
    if ('reason' in read) refused.push(read);
    else {
      examples.push(read.example);
      totals.add(read);
      for (const list of listsOf(read, places, words)) list.push(placeOf(row, index));
    }
    if (index % PAUSE_EVERY === PAUSE_EVERY - 1) {
      context.onProgress(index + 1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const summary = totals.summary(context.config.batchSize);
  const told = { lossGone: places.gone, lossless: places.none, ...words };
  const prepared = { examples, summary, refused, ...told };
  if (places.some.length === 0) throw nothingToTrain(prepared, context.config);
  return prepared;
}

/** Where a row's place is told. */
function listsOf(
  { loss, emptyReplies, hasUnnamedCall: isUnnamed }: PreparedRow,
  places: Readonly<Record<Loss, string[]>>,
  { speechless, unnamed }: Readonly<Record<'speechless' | 'unnamed', string[]>>,
): string[][] {
  return [places[loss], ...(emptyReplies > 0 ? [speechless] : []), ...(isUnnamed ? [unnamed] : [])];
}

/**
 * Held-out rows that can be measured, and those that cannot because they cannot be rendered or are longer than the model's context,
 * which are an error unless `onBadRow` is `skip`; so that it is known before anything is trained. `maxLength` allows cutting.
 */
export async function checkHeldOut(
  rows: readonly ConversationRow[],
  context: ExampleContext,
): Promise<{ readonly rows: readonly ConversationRow[]; readonly refused: readonly RefusedRow[] }> {
  const kept: ConversationRow[] = [];
  const refused: RefusedRow[] = [];
  const { maxLength } = context.config;
  const limit = Math.min(maxLength ?? Infinity, context.contextLength ?? Infinity);
  for (const [index, row] of rows.entries()) {
    const place = `held-out ${placeOf(row, index)}`;
    const rule = { place, limit, isCutAllowed: maxLength !== undefined };
    const bad = await readHeldOut(row, rule, context);
    if (bad) refused.push(bad);
    else kept.push(row);
    if (index % PAUSE_EVERY === PAUSE_EVERY - 1) {
      context.onProgress(rows.length);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return { rows: kept, refused };
}

async function readHeldOut(
  row: ConversationRow,
  rule: LengthRule,
  context: ExampleContext,
): Promise<RefusedRow | null> {
  try {
    const rendered = await render(row, rule, context);
    if ('reason' in rendered) return rendered;
    checkLength(rendered, rule);
    return null;
  } catch (error) {
    if (context.config.dataset.onBadRow !== 'skip' || !(error instanceof TooLong)) throw error;
    return { place: rule.place, reason: error.reason };
  }
}

function lossOf(rendered: RenderedExample, limit: number): Loss {
  if (describeTruncation(rendered, limit).isLossGone) return 'gone';
  return rendered.weights.slice(1).some((weight) => weight > 0) ? 'some' : 'none';
}

function nothingToTrain(
  { examples, refused, lossGone }: PreparedExamples,
  { trainOnWhat, maxLength }: SupervisedConfig,
): DomainError {
  const [first] = refused;
  if (examples.length === 0 && first) {
    return new DomainError(
      'bad-dataset',
      `dataset: all ${refused.length} rows were left out, the first one, ${first.place}, because: ${first.reason}`,
    );
  }
  if (lossGone.length > 0) {
    return new DomainError(
      'bad-dataset',
      `dataset: maxLength ${maxLength ?? ''} cuts off all tokens with loss of every example that has any (${lossGone.length} of ${examples.length}). Raise maxLength.`,
    );
  }
  return new DomainError(
    'bad-dataset',
    `dataset: no token of any example carries loss with trainOnWhat "${trainOnWhat}". Choose another trainOnWhat, or check that the conversations have assistant messages.`,
  );
}

export interface PreparedRow extends CountedRow {
  readonly example: PreparedExample;
  /** Before it was cut. */
  readonly fullLength: number;
  readonly loss: Loss;
  /** Replies with loss of which only the end is trained. */
  readonly emptyReplies: number;
  /** It calls a tool that no token of it names. */
  readonly hasUnnamedCall: boolean;
}

interface RowToPrepare {
  readonly row: ConversationRow;
  readonly index: number;
  readonly limit: number;
}

/** What a row is trained as: its tokens that are read or predicted, and the weight of each; or why it is left out. */
export async function prepareRow(
  { row, index, limit }: RowToPrepare,
  context: ExampleContext,
): Promise<PreparedRow | RefusedRow> {
  const rule = { place: placeOf(row, index), limit, isCutAllowed: context.config.maxLength !== undefined };
  const rendered = await render(row, rule, context);
  if ('reason' in rendered) return rendered;
  checkLength(rendered, rule);
  const { tokens, weights } = rendered;
  return {
    tokens: tokens.slice(0, limit),
    weights: weights.slice(0, limit),
    cut: tokens.length > limit,
    fullLength: tokens.length,
    example: prepareExample(rendered, rule, context),
    loss: lossOf(rendered, limit),
    emptyReplies: countEmptyReplies(row.messages, context.config.trainOnWhat),
    hasUnnamedCall: context.renderer.writesCallIds === true && hasUnnamedCall(row.messages),
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

/** One that is too long for certain is refused before it is turned into tokens; one that cannot be rendered may be left out. */
async function render(
  row: ConversationRow,
  rule: LengthRule,
  { renderer, tokenizer, config, signal }: ExampleContext,
): Promise<RenderedExample | RefusedRow> {
  const work = () => {
    const rendered = renderWithTools(renderer, row, (conversation) =>
      renderer.buildSupervisedExample(conversation, config.trainOnWhat),
    );
    if (rendered.tokens.length >= LEAST_TOKENS) return rendered;
    throw new DomainError(
      'bad-dataset',
      `it has ${rendered.tokens.length} tokens, and an example needs at least ${LEAST_TOKENS}: one to read and one to predict. Remove the row.`,
    );
  };
  const limits = { mostTokens: rule.limit, isCutAllowed: rule.isCutAllowed, ...(signal && { signal }) };
  return inTurns(tokenizer, work, limits).catch((error: unknown): RefusedRow => {
    if (error instanceof TooManyTokens) throw new TooLong(`at least ${error.leastTokens}`, rule);
    if (!(error instanceof DomainError) || error.code !== 'bad-dataset') throw error;
    const { place } = rule;
    if (config.dataset.onBadRow === 'skip') return { place, reason: error.message };
    throw new DomainError(
      'bad-dataset',
      `dataset: ${place}: ${error.message} Or set onBadRow to "skip" to leave such rows out. Rows after it were not looked at; \`npx everstep data show CONFIG\` looks at all.`,
      { cause: error },
    );
  });
}

function checkLength({ tokens }: RenderedExample, rule: LengthRule): void {
  if (tokens.length <= rule.limit || rule.isCutAllowed) return;
  throw new TooLong(String(tokens.length), rule);
}

/** An example that the model cannot read as a whole, and that may not be cut. */
class TooLong extends DomainError {
  readonly reason: string;

  constructor(tokens: string, { place, limit }: LengthRule) {
    const what = `has ${tokens} tokens and the model reads ${limit}. Set maxLength: ${limit} to cut such examples, or shorten them.`;
    super('bad-dataset', `dataset: ${place} ${what}`);
    this.reason = `it ${what}`;
  }
}

function prepareExample(
  rendered: RenderedExample,
  { limit }: LengthRule,
  context: ExampleContext,
): PreparedExample {
  const datum = toDatum(rendered, { maxLength: limit, reduction: context.config.lossReduction });
  return { datum, ...countText(context.tokenizer, datum.targetTokens, datum.lossInputs['weights'] ?? []) };
}
