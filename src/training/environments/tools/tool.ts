import { z } from 'zod';
import type { ToolDeclaration } from '../../../core/completion';
import { asSentence } from '../../../core/sentences';
import { messageOf } from '../../../evaluation/error-message';
import { boundedWork } from '../../rollouts/bounded-work';
import { checkDefinition, refusedTool } from './check-definition';

/** What a tool gives back. Anything but a string is written as JSON. */
export interface ToolResult {
  readonly content: unknown;
  /** Ends the rollout once all calls of the turn are answered. */
  readonly shouldStop?: boolean;
  readonly metrics?: Readonly<Record<string, number>>;
}

export interface ToolContext {
  /** Fires where nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

export interface ToolDefinition<Parameters extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  /** An object; what it says of its fields is what the model reads. */
  readonly parameters: Parameters;
  readonly run: (
    given: z.infer<Parameters>,
    context: ToolContext,
  ) => string | ToolResult | Promise<string | ToolResult>;
  /** Calls a rollout may make of this tool; more are answered with an error. Default: any number. */
  readonly maxCalls?: number;
  /** A call that takes longer is answered with an error. Default 60. */
  readonly timeoutSeconds?: number;
}

export type ToolFailure =
  | 'json_decode_failed'
  | 'validation_failed'
  | 'execution_failed'
  | 'tool_not_found'
  | 'call_limit_reached'
  | 'timed_out';

/** What the model reads of a call, and what is counted of it. */
export interface ToolAnswer {
  readonly content: string;
  readonly shouldStop: boolean;
  readonly metrics: Readonly<Record<string, number>>;
  readonly failure: ToolFailure | null;
}

/** A function the model may call. Calling it never throws: the model reads what went wrong. */
export interface Tool {
  readonly declaration: ToolDeclaration;
  readonly maxCalls: number | null;
  call(argumentsText: string, context: ToolContext): Promise<ToolAnswer>;
}

const TIMEOUT_SECONDS = 60;
/** A tool may answer with anything, and the answer is read by the model and stored with the rollout. */
const MOST_CHARACTERS = 100_000;

/** A tool of one's own. Throws where the definition is none, with what is wrong of it. */
export function defineTool<Parameters extends z.ZodType>(definition: ToolDefinition<Parameters>): Tool {
  checkDefinition(definition);
  const { name, description, maxCalls = null } = definition;
  return {
    declaration: { name, description, parameters: schemaOf(definition) },
    maxCalls,
    async call(argumentsText, context) {
      const given = parsedArguments(argumentsText);
      if ('problem' in given) {
        return failedCall('json_decode_failed', `Failed to parse tool arguments: ${given.problem}`);
      }
      return answerOf(definition, given.value, context);
    },
  };
}

function schemaOf({ name, parameters }: Pick<ToolDefinition<z.ZodType>, 'name' | 'parameters'>) {
  try {
    return z.toJSONSchema(parameters, { io: 'input' });
  } catch (error) {
    throw refusedTool(
      name,
      `parameters cannot be told to a model: ${asSentence(messageOf(error))} Use types that JSON has.`,
    );
  }
}

export function failedCall(failure: ToolFailure, message: string): ToolAnswer {
  return { content: JSON.stringify({ error: message }), shouldStop: false, metrics: {}, failure };
}

async function answerOf<Parameters extends z.ZodType>(
  { name, parameters, run, timeoutSeconds = TIMEOUT_SECONDS }: ToolDefinition<Parameters>,
  given: unknown,
  { signal }: ToolContext,
): Promise<ToolAnswer> {
  const late = new Error(`${name} gave no answer within ${timeoutSeconds} s`);
  try {
    const checked = await parameters.safeParseAsync(given);
    if (!checked.success) return failedCall('validation_failed', z.prettifyError(checked.error));
    const bound = { signal, timeoutMs: timeoutSeconds * 1000, late: () => late };
    return answered(await boundedWork((inner) => run(checked.data, { signal: inner }), bound));
  } catch (error) {
    signal.throwIfAborted();
    if (error === late) return failedCall('timed_out', late.message);
    return failedCall('execution_failed', `Tool execution failed: ${messageOf(error)}`);
  }
}

function answered(result: string | ToolResult): ToolAnswer {
  const {
    content,
    shouldStop = false,
    metrics = {},
  } = typeof result === 'string' ? { content: result } : result;
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return { content: shortened(text), shouldStop, metrics, failure: null };
}

function shortened(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}\n[${text.length - MOST_CHARACTERS} more characters]`;
}

function parsedArguments(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}
