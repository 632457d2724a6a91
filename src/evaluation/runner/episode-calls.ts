import { anySignal } from '../../core/concurrency/any-signal';
import { untilAborted } from '../../core/concurrency/until-aborted';
import type { EnvironmentStep, MessageEnvironment, Observation } from '../../core/environment';
import { declaredTools } from '../declared-tools';
import { askableError } from '../error-message';
import { isOfWholeCell } from '../evaluators/example-failures';
import { StrayThrow } from '../foreign-work';
import { spokenMessages } from '../spoken-messages';
import { messageWithPlace } from '../thrown-at';
import { isDeadly } from './deadly-steps';
import { createProblemEnvironment } from './problem-environment';
import type { EpisodeSite } from './sample-turn';
import type { SampleRow } from './shard-rows';
import type { ExampleUnit } from './shard-task';
import { faultOfObservation } from './step-fault';
import { TimeBudget } from './time-budget';

/** One example while it is played. */
export interface Episode {
  readonly site: EpisodeSite;
  readonly unit: ExampleUnit;
  readonly budget: TimeBudget;
}

/** Waiting longer for an environment to put its things away would keep its example. */
const CLOSING_MS = 30_000;

/** The environment or the grader failed, not the model. Trying again repeats the episode from its completions, which are kept. */
export class StepFailure extends Error {
  override readonly cause: unknown;

  constructor(thrown: unknown) {
    const error = askableError(thrown);
    super(messageWithPlace(error));
    this.cause = error;
  }
}

/** The environment of an example, or its grader as one. */
export async function openEnvironment(episode: Episode): Promise<MessageEnvironment> {
  const { example } = episode.unit;
  const { environment, grader } = episode.site.task.subject;
  if (!environment) return createProblemEnvironment(example, grader);
  const make = async () => environment(example);
  return inCare(episode, () => make().catch(failStep));
}

/** What it begins with, in time and as agreed. */
export async function observe(episode: Episode, environment: MessageEnvironment): Promise<Observation> {
  const { signal, task } = episode.site;
  const begin = async () => environment.initialObservation();
  const inTime = () => new TimeBudget(task.timeoutMs).bound(begin(), () => undefined);
  try {
    return checkedObservation(await (task.subject.environment ? inCare(episode, inTime) : begin()));
  } catch (error) {
    signal.throwIfAborted();
    return failStep(error);
  }
}

/** One step, in what time the example has left. */
export async function takeStep(
  episode: Episode,
  environment: MessageEnvironment,
  row: SampleRow,
): Promise<EnvironmentStep> {
  return inCare(episode, () => stepOnce(episode, environment, row));
}

/** What it held is found by its reaper where it does not close; the score stands. */
export async function closeEnvironment(episode: Episode, environment: MessageEnvironment): Promise<void> {
  if (environment.close === undefined) return;
  const close = async () => environment.close?.();
  const inTime = () => new TimeBudget(CLOSING_MS).bound(close(), () => undefined);
  await inCare(episode, () => inTime().catch(() => undefined));
}

/** Throws where there is a fault. */
export function refuse(fault: string | null): void {
  if (fault !== null) throw new StepFailure(new Error(fault));
}

function failStep(error: unknown): never {
  throw error instanceof StepFailure ? error : new StepFailure(error);
}

function checkedObservation({ messages, tools }: Observation): Observation {
  const observation = {
    messages: spokenMessages(messages, 'messages'),
    ...(tools && { tools: declaredTools(tools) }),
  };
  refuse(faultOfObservation(observation));
  return observation;
}

/** What code that is not ours does; alone, where a worker died with these examples in hand. A grader that asks others bounds itself. */
async function inCare<Result>({ site, unit }: Episode, work: () => Promise<Result>): Promise<Result> {
  const { environment, grader } = site.task.subject;
  if (!environment && grader.boundsItself) return work();
  const key = unit.keys.grade;
  const what = environment ? 'the environment' : `grader ${JSON.stringify(grader.name)}`;
  const run = () => site.runForeign(key, `${what} of example ${JSON.stringify(unit.example.id)}`, work);
  try {
    return await (site.takeCare ? site.takeCare(key, run) : run());
  } catch (error) {
    site.signal.throwIfAborted();
    throw isDeadly(error) || error instanceof StrayThrow ? new StepFailure(error) : error;
  }
}

async function stepOnce(
  { site, budget }: Episode,
  environment: MessageEnvironment,
  { message, stop_reason: stopReason, is_malformed }: SampleRow,
): Promise<EnvironmentStep> {
  const isMalformed = is_malformed === true;
  await site.takeTurn();
  const callOff = site.task.subject.environment ? new AbortController() : null;
  const signal = callOff ? anySignal([site.signal, callOff.signal]) : site.signal;
  try {
    const step = environment.step(structuredClone(message), { stopReason, isMalformed, signal });
    if (!isPromised(step)) return step;
    const { environment: agent, grader } = site.task.subject;
    // One that waits for whoever judges ends with the shard.
    if (!agent && grader.boundsItself) return await untilAborted(step, signal);
    return await budget.bound(step, () => callOff?.abort());
  } catch (thrown) {
    site.signal.throwIfAborted();
    const error = askableError(thrown);
    if (isOfWholeCell(error)) throw error;
    throw new StepFailure(error);
  }
}

/** Plain JavaScript may return anything. */
function isPromised(step: EnvironmentStep | Promise<EnvironmentStep>): step is Promise<EnvironmentStep> {
  const given: unknown = step;
  return typeof given === 'object' && given !== null && 'then' in given;
}
