import type { Message, ToolCall } from '../../../core/conversation';
import { allowedToolCalls } from '../../../core/reinforcement/limits';
import type { EnvironmentBounds } from '../environment-dataset';
import type { Tool, ToolAnswer } from './tool';
import { failedCall } from './tool';

/** What came of the calls of one turn. */
export interface ToolTurn {
  /** One for each call that was made, in the order of the calls. */
  readonly messages: readonly Message[];
  readonly shouldStop: boolean;
  readonly isOverLimit: boolean;
  readonly metrics: Readonly<Record<string, number>>;
}

const UNBOUNDED: EnvironmentBounds = { maxToolCalls: null, toolExecution: 'parallel' };

/** Makes the calls of one rollout and counts them. */
export class ToolCalls {
  private readonly callsOfTool = new Map<string, number>();
  private madeCount = 0;

  constructor(
    private readonly tools: readonly Tool[],
    private readonly bounds: EnvironmentBounds = UNBOUNDED,
  ) {}

  async make(calls: readonly ToolCall[], signal: AbortSignal): Promise<ToolTurn> {
    const { madeCount } = this;
    const allowance = allowedToolCalls(this.bounds, { madeCount, requestedCount: calls.length });
    const made = calls.slice(0, allowance.callCount);
    this.madeCount += made.length;
    const answers = await this.answersTo(made, signal);
    return {
      messages: answers.map((answer, index) => toolMessage(made[index], answer)),
      shouldStop: answers.some((answer) => answer.shouldStop),
      isOverLimit: allowance.stopReason !== null,
      metrics: { tool_calls: made.length, ...metricsOf(answers) },
    };
  }

  /** In their order also where they are made at once: counting comes before the first waits. */
  private async answersTo(calls: readonly ToolCall[], signal: AbortSignal): Promise<ToolAnswer[]> {
    if (this.bounds.toolExecution === 'parallel') {
      return Promise.all(calls.map((call) => this.answerTo(call, signal)));
    }
    const answers: ToolAnswer[] = [];
    for (const call of calls) answers.push(await this.answerTo(call, signal));
    return answers;
  }

  private async answerTo(call: ToolCall, signal: AbortSignal): Promise<ToolAnswer> {
    const tool = this.tools.find(({ declaration }) => declaration.name === call.name);
    if (tool === undefined) return failedCall('tool_not_found', `Tool '${call.name}' not found`);
    const count = (this.callsOfTool.get(call.name) ?? 0) + 1;
    this.callsOfTool.set(call.name, count);
    if (tool.maxCalls !== null && count > tool.maxCalls) {
      return failedCall(
        'call_limit_reached',
        `Tool '${call.name}' may be called at most ${tool.maxCalls} times`,
      );
    }
    return tool.call(call.arguments, { signal });
  }
}

function toolMessage(call: ToolCall | undefined, { content }: ToolAnswer): Message {
  return {
    role: 'tool',
    content,
    ...(call && { name: call.name }),
    ...(call?.id !== undefined && { toolCallId: call.id }),
  };
}

/** Sums over the calls of the turn. */
function metricsOf(answers: readonly ToolAnswer[]): Record<string, number> {
  const sums = new Map<string, number>();
  const add = (key: string, value: number) => sums.set(key, (sums.get(key) ?? 0) + value);
  for (const { metrics, failure } of answers) {
    Object.entries(metrics).forEach(([key, value]) => add(key, value));
    if (failure === null) continue;
    add('tool_errors', 1);
    add(`tool_error/${failure}`, 1);
  }
  return Object.fromEntries(sums);
}
