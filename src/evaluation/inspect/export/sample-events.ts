import { identifierOf } from './identifiers';
import type { SampleMessage } from './sample-messages';

/** What the events of a sample tell of; all but the messages as the sample itself has it. */
interface SampleStory {
  readonly uuid: string;
  readonly id: string;
  readonly input: string;
  readonly target: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly model: string;
  readonly messages: readonly SampleMessage[];
  /** Why the last answer ended. */
  readonly stopReason: string;
  readonly config: Readonly<Record<string, number>>;
  readonly scores: Readonly<Record<string, object>>;
  readonly error: object | null;
}

/**
 * What happened, as Inspect's transcript shows it: the sample, each answer of the model with what it had read, what tools and
 * environments said, score or error. Messages stand once, in a pool that answers refer to.
 */
export function eventsOf(story: SampleStory) {
  const { messages, startedAt, uuid } = story;
  const events = [
    { event: 'sample_init', sample: initOf(story), state: {} },
    ...messages.flatMap((message, index) => turnEvents(message, index, story)),
    ...Object.entries(story.scores).map(([scorer, score]) => ({
      ...{ event: 'score', score, target: story.target, scorer, intermediate: false },
    })),
    ...(story.error === null ? [] : [{ event: 'error', error: story.error }]),
  ];
  return {
    events: events.map((event, index) => ({
      ...{ uuid: identifierOf(uuid, 'event', index), timestamp: startedAt, working_start: 0 },
      ...event,
    })),
    events_data: { messages, calls: [] },
  };
}

function initOf({ id, input, target }: SampleStory) {
  return { id, input, target };
}

function turnEvents(message: SampleMessage, index: number, story: SampleStory): readonly object[] {
  if (message.role === 'assistant') return [modelEvent(message, index, story)];
  return message.role === 'tool' ? [toolEvent(message, index, story)] : [];
}

function modelEvent(message: SampleMessage, index: number, story: SampleStory) {
  const { messages, model, stopReason, config, seconds } = story;
  const lastIndex = messages.findLastIndex(({ role }) => role === 'assistant');
  const asksForTools = (message.tool_calls ?? []).length > 0;
  const reason = index === lastIndex ? stopReason : asksForTools ? 'tool_calls' : 'stop';
  return {
    ...{ event: 'model', model, tools: [], tool_choice: 'auto', config },
    ...{ input: [], input_refs: index > 0 ? [[0, index]] : [] },
    output: { model, choices: [{ message, stop_reason: reason }], completion: message.content },
    // Of one answer it is that of the sample; of several nobody wrote it down.
    ...(messages.filter(({ role }) => role === 'assistant').length === 1 && { working_time: seconds }),
  };
}

function toolEvent(message: SampleMessage, index: number, { messages, uuid }: SampleStory) {
  const calls = messages.slice(0, index).flatMap(({ tool_calls: each = [] }) => each);
  // Services may number the calls of each answer from 0.
  const call = calls.findLast(({ id }) => id === message.tool_call_id);
  return {
    event: 'tool',
    type: 'function',
    id: call?.id ?? identifierOf(uuid, 'call', index),
    function: call?.function ?? message.function ?? '',
    arguments: call?.arguments ?? {},
    result: message.content,
  };
}
