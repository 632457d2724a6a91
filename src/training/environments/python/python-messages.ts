import { z } from 'zod';
import type { ToolDeclaration } from '../../../core/completion';
import type { Message } from '../../../core/conversation';
import type { Observation } from '../../../core/environment';
import { readMessages } from '../../../datasets/messages';
import { readTools } from '../../../datasets/tools';
import type { TrainingStep } from '../environment-dataset';

/** Messages travel as the chat API of OpenAI writes them, which is what Python knows. */
export function toPythonMessage({ role, content, name, toolCalls = [], toolCallId }: Message) {
  return {
    role,
    content: typeof content === 'string' ? content : content.map((part) => ({ ...part })),
    ...(name !== undefined && { name }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map(({ id, name: tool, arguments: given }, index) => ({
        id: id ?? `call_${index}`,
        type: 'function',
        function: { name: tool, arguments: given },
      })),
    }),
  };
}

const ObservationAnswer = z.object({
  messages: z.array(z.unknown()),
  tools: z.array(z.unknown()).default([]),
  judgesCutReplies: z.boolean().default(false),
});

const StepAnswer = z.object({
  reward: z.number(),
  isDone: z.boolean(),
  nextMessages: z.array(z.unknown()).default([]),
  metrics: z.record(z.string(), z.number()).default({}),
  logs: z.record(z.string(), z.unknown()).default({}),
  answer: z.string().nullable().optional(),
  stopReason: z.string().optional(),
});

export interface PythonObservation extends Observation {
  readonly tools: readonly ToolDeclaration[];
  readonly judgesCutReplies: boolean;
}

export function readObservation(given: unknown): PythonObservation {
  const { messages, tools, ...rest } = ObservationAnswer.parse(given);
  return {
    ...rest,
    messages: readMessages(messages, 'messages'),
    tools: readTools(tools, 'tools').map(({ name, description = '', parameters = {} }) => ({
      ...{ name, description, parameters },
    })),
  };
}

export function readStep(given: unknown): TrainingStep {
  const { nextMessages, answer, stopReason, ...rest } = StepAnswer.parse(given);
  return {
    ...rest,
    nextMessages: readMessages(nextMessages, 'next_messages'),
    ...(answer !== undefined && { answer }),
    ...(stopReason !== undefined && { stopReason }),
  };
}
