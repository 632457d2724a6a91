import { setTimeout as delay } from 'node:timers/promises';
import type { Message } from '../../core/conversation';
import type { EnvironmentStep, MessageEnvironment } from '../../core/environment';
import { DomainError } from '../../core/errors';
import { isToolCount } from '../../core/reinforcement/rollout-metrics';
import { GivenUpError } from '../../engines/openai/given-up';
import { EXAMPLE_ATTEMPTS, isFault, waitBefore } from '../evaluators/example-failures';
import { JudgeFailedError } from '../judges/judge-failure';
import { spokenMessages } from '../spoken-messages';
import { messageText } from './message-text';
import { isDeadly } from './deadly-steps';
import type { Episode } from './episode-calls';
import { closeEnvironment, observe, openEnvironment, refuse, StepFailure, takeStep } from './episode-calls';
import { faultOfStep } from './step-fault';
import type { EpisodeSite, Turn } from './sample-turn';
import { sampleTurn } from './sample-turn';
import type { GradeRow, SampleRow, Truncation } from './shard-rows';
import type { ExampleUnit } from './shard-task';
import { textDigest } from './shard-task';
import { TimeBudget } from './time-budget';

/** What happened in an episode up to its end. */
interface Course {
  /** What the environment began with, where the example's messages do not say it. */
  asked?: readonly Message[];
  readonly samples: string[];
  readonly said: (readonly Message[])[];
  readonly metrics: Record<string, number>;
  readonly logs: Record<string, unknown>;
  reward: number;
  answer: string | null | undefined;
  stopReason?: string;
}

/** Why an episode ended before its environment said so. */
interface Ending {
  readonly truncation?: Truncation;
  readonly error?: string;
}

/** Ends an episode that its environment never ends. */
const MOST_TURNS = 200;
/**
 * Plays one example once and says what came of it. Completions are journalled as they arrive; those that are there already
 * are not asked for again. Throws what says nothing of the example.
 */
export async function runEpisode(site: EpisodeSite, unit: ExampleUnit): Promise<GradeRow> {
  const { subject, permits, rank, timeoutMs } = site.task;
  const episode = { site, unit, budget: new TimeBudget(timeoutMs) };
  if (!subject.environment) return playUntilJudged(episode);
  await permits.take(rank);
  site.intake.leave(unit);
  try {
    site.signal.throwIfAborted();
    return await playUntilJudged(episode);
  } finally {
    permits.give();
  }
}

async function playUntilJudged(episode: Episode): Promise<GradeRow> {
  const { site } = episode;
  for (let attempt = 1; ; attempt++) {
    const course: Course = { samples: [], said: [], metrics: {}, logs: {}, reward: 0, answer: undefined };
    try {
      return settle(episode, course, await play(episode, course));
    } catch (error) {
      site.signal.throwIfAborted();
      if (!(error instanceof StepFailure)) throw error;
      const isLast = attempt >= EXAMPLE_ATTEMPTS || isFinal(error.cause);
      const where = site.task.subject.environment ? 'environment' : 'grader';
      if (isLast) return settle(episode, course, { error: `${where}: ${error.message}` });
    }
    await delay(waitBefore(attempt), undefined, { signal: site.signal });
  }
}

async function play(episode: Episode, course: Course): Promise<Ending> {
  const environment = await openEnvironment(episode);
  try {
    let turn = await firstTurn(episode, environment, course);
    for (let count = 0; count < MOST_TURNS; count++) {
      const sampled = await sampleTurn(episode, turn);
      if (!('row' in sampled)) return sampled;
      const { row } = sampled;
      course.samples.push(row.key);
      if (isCutOff(episode, row)) return { truncation: 'max_tokens_reached' };
      const step = readStep(episode, await takeStep(episode, environment, row));
      noteStep(course, step);
      if (!step.isDone || step.nextMessages.length > 0) course.said.push(step.nextMessages);
      if (step.isDone) return {};
      turn = nextTurn(turn, row, step);
    }
    course.metrics['max_turns_reached'] = 1;
    course.stopReason = 'max_turns';
    return {};
  } finally {
    await closeEnvironment(episode, environment);
  }
}

async function firstTurn(episode: Episode, environment: MessageEnvironment, course: Course): Promise<Turn> {
  const { site, unit } = episode;
  const { subject } = site.task;
  const system = subject.systemPrompt === undefined ? [] : [systemMessage(subject.systemPrompt)];
  const { messages, tools } = await observe(episode, environment);
  if (subject.environment && JSON.stringify(messages) !== JSON.stringify(unit.example.messages)) {
    course.asked = messages;
  }
  const { sample } = unit.keys;
  // Where the example decides the prompt its digest says all; an environment may say more.
  const key = subject.environment ? textDigest(`${sample}\n${JSON.stringify([messages, tools])}`) : sample;
  return { key, index: 0, messages: [...system, ...messages], ...(tools && { tools }) };
}

function systemMessage(content: string): Message {
  return { role: 'system', content };
}

function nextTurn(turn: Turn, { message }: SampleRow, { nextMessages }: EnvironmentStep): Turn {
  return {
    ...turn,
    key: textDigest(`${turn.key}\n${JSON.stringify([message, nextMessages])}`),
    index: turn.index + 1,
    messages: [...turn.messages, message, ...nextMessages],
  };
}

/** A reply that was cut off is no answer: it may quote the right one on its way to another. */
function isCutOff({ site }: Episode, { stop_reason }: SampleRow): boolean {
  return stop_reason === 'length' && !site.task.subject.environment;
}

/** After the end no model reads anything; what tools answered last is kept, since it may be what is graded. */
function readStep({ site }: Episode, step: EnvironmentStep): EnvironmentStep {
  const { environment, grader } = site.task.subject;
  refuse(faultOfStep(step, environment ? null : grader.name));
  try {
    const nextMessages = spokenMessages(step.nextMessages, 'nextMessages');
    if (step.isDone) return { ...step, nextMessages: nextMessages.filter(isToolAnswer) };
    return nextMessages === step.nextMessages ? step : { ...step, nextMessages };
  } catch (error) {
    if (step.isDone) return { ...step, nextMessages: [] };
    throw new StepFailure(error);
  }
}

function isToolAnswer(message: Message): boolean {
  return message.role === 'tool' && typeof messageText(message) === 'string';
}

function noteStep(course: Course, step: EnvironmentStep): void {
  course.reward += step.reward;
  if (step.answer !== undefined) course.answer = step.answer;
  if (step.isDone && typeof step.stopReason === 'string') course.stopReason = step.stopReason;
  noteMetrics(course.metrics, step.metrics ?? {});
  Object.assign(course.logs, step.logs);
}

/** What a step noted last; calls of tools are counted over all steps. */
function noteMetrics(noted: Record<string, number>, metrics: Readonly<Record<string, number>>): void {
  for (const [key, value] of Object.entries(metrics)) {
    noted[key] = isToolCount(key) ? (noted[key] ?? 0) + value : value;
  }
}

/** The request itself is wrong, or it was tried for long already. */
function isFinal(error: unknown): boolean {
  if (isFault(error) || isDeadly(error)) return true;
  if (error instanceof GivenUpError || error instanceof JudgeFailedError) return true;
  return error instanceof DomainError && error.code === 'timed-out';
}

/** The row of an episode that is over. What ended badly counts 0, and a failure is not final. */
function settle({ site, unit }: Episode, course: Course, { truncation, error }: Ending): GradeRow {
  for (const key of course.samples) site.known.delete(key);
  const isJudged = truncation === undefined && error === undefined;
  return {
    key: error === undefined ? unit.keys.grade : `${unit.keys.grade}!${site.task.epoch}`,
    example_id: unit.example.id,
    sample_index: unit.sampleIndex,
    samples: course.samples,
    value: isJudged ? course.reward : 0,
    ...factsOf(course),
    ...(truncation && { truncation }),
    ...(error !== undefined && { error }),
  };
}

function factsOf({ asked, said, metrics, logs, answer, stopReason }: Course): Partial<GradeRow> {
  return {
    ...(asked && { asked }),
    ...(answer !== undefined && { answer }),
    ...(hasEntries(metrics) && { metrics }),
    ...(hasEntries(logs) && { logs }),
    ...(said.length > 0 && { environment: said }),
    ...(stopReason !== undefined && { stop_reason: stopReason }),
  };
}

function hasEntries(record: object): boolean {
  return Object.keys(record).length > 0;
}
