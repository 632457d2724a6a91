import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { EvalEvent } from './eval-events';
import { describeEvalEvent, disturbEval } from './eval-events';
import type { CommandEnd, EvalSetting } from './eval-site';
import { EvalSite } from './eval-site';
import { sleep } from './service';

/** What an evaluation leaves, without the times it took. */
export interface EvalOutcome {
  readonly result: Readonly<Record<string, unknown>>;
  readonly trajectories: readonly string[];
}

export interface EvalVerdict {
  readonly events: readonly string[];
  readonly seconds: number;
  /** Requests the endpoint took on beyond one an example, and what the events may cost. */
  readonly extra: number;
  readonly allowance: number;
  readonly refused: number;
  /** How often the command was given. */
  readonly commands: number;
  readonly notes: readonly string[];
  /** Empty where it left what an undisturbed one leaves. */
  readonly problems: readonly string[];
}

const POLL_MS = 10;
const LIMIT_MS = 240_000;
/** Examples that took too long are errors until the command is given again. */
const MOST_COMMANDS = 5;

interface Row {
  readonly example_id: string;
  readonly [key: string]: unknown;
}

/** An evaluation that nothing happens to; throws where even that goes wrong. */
export async function runEvalReference(setting: EvalSetting): Promise<EvalOutcome> {
  const site = await EvalSite.open(setting);
  try {
    const end = await site.evaluate();
    const paid = site.endpoint.paidCount;
    if (end.code !== 0 || paid !== setting.examples)
      throw new Error(
        `The undisturbed evaluation ended with ${end.code}, ${paid} requests: ${end.complaint}`,
      );
    return outcomeOf(site);
  } finally {
    await site.close();
  }
}

/** One evaluation under its events, asked for by two commands at once, compared with its undisturbed twin. */
export async function runEvalChaos(
  setting: EvalSetting,
  events: readonly EvalEvent[],
  reference: EvalOutcome | Promise<EvalOutcome>,
): Promise<EvalVerdict> {
  const site = await EvalSite.open(setting);
  const startedAt = performance.now();
  try {
    let isOver = false;
    const commands = untilDone(site).finally(() => {
      isOver = true;
    });
    const disturbing = disturbAll(site, events, () => isOver);
    const { ends, given } = await commands;
    const { allowance, done } = await disturbing;
    const extra = site.endpoint.paidCount - setting.examples;
    const seconds = (performance.now() - startedAt) / 1000;
    return {
      events: done,
      seconds,
      extra,
      allowance,
      refused: site.endpoint.refusedCount,
      commands: given,
      notes: site.notes,
      problems: problemsOf(site, { ends, reference: await reference, extra, allowance }),
    };
  } finally {
    await site.close();
  }
}

/** Strikes as long as the evaluation lasts. */
async function disturbAll(site: EvalSite, events: readonly EvalEvent[], isOver: () => boolean) {
  const done: string[] = [];
  let allowance = 0;
  for (const event of events) {
    while (site.endpoint.answeredCount < event.afterAnswers && !isOver()) await sleep(POLL_MS);
    if (isOver()) break;
    allowance += await disturbEval(site, event);
    done.push(describeEvalEvent(event));
  }
  return { done, allowance };
}

/** Two people give the same command at the same time, and again where examples failed. */
async function untilDone(
  site: EvalSite,
): Promise<{ readonly ends: readonly CommandEnd[]; readonly given: number }> {
  const late = new AbortController();
  const limit = sleepUnless(late.signal);
  let ends: readonly CommandEnd[] = [];
  try {
    for (let given = 1; given <= MOST_COMMANDS; given++) {
      const both = Promise.all([site.evaluate(), site.evaluate()]);
      ends = await Promise.race([both, limit]);
      if (!ends.some(({ printed }) => hasErrors(printed))) return { ends, given };
    }
    return { ends, given: MOST_COMMANDS };
  } finally {
    late.abort();
  }
}

async function sleepUnless(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`The evaluation has not ended after ${LIMIT_MS / 1000} s.`));
    }, LIMIT_MS);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
    });
  });
}

function hasErrors(printed: string): boolean {
  return /"numErrors": [1-9]/.test(printed);
}

interface Seen {
  readonly ends: readonly CommandEnd[];
  readonly reference: EvalOutcome;
  readonly extra: number;
  readonly allowance: number;
}

function problemsOf(site: EvalSite, { ends, reference, extra, allowance }: Seen): string[] {
  const failed = ends.filter(({ code }) => code !== 0);
  const problems = failed.map(
    ({ code, complaint }) => `a command ended with ${code}: ${complaint.slice(-600)}`,
  );
  if (failed.length > 0) return problems;
  const [one, other] = ends;
  if (withoutTimes(one?.printed) !== withoutTimes(other?.printed))
    problems.push('two commands print two results');
  const unasked = site.setting.examples - site.endpoint.asked.size;
  if (unasked > 0) problems.push(`${unasked} questions were never asked`);
  if (extra > allowance) problems.push(`${extra} requests too many, of which ${allowance} may be lost`);
  return [...problems, ...differences(outcomeOf(site), reference)];
}

function withoutTimes(printed = ''): string {
  return printed.replace(/"timeSeconds": [\d.]+/g, '');
}

function outcomeOf({ results }: EvalSite): EvalOutcome {
  // Written by the program under test and compared as it is.
  const result = JSON.parse(readFileSync(path.join(results, 'result.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  const identity = result['identity'] as Record<string, unknown>;
  const lines = readFileSync(path.join(results, 'trajectories.jsonl'), 'utf8').split('\n').filter(Boolean);
  return {
    // Each endpoint has a port of its own.
    result: { ...result, time_seconds: 0, identity: { ...identity, checkpoint: '' } },
    trajectories: lines.map((line) => {
      const row = JSON.parse(line) as Row;
      return JSON.stringify({ ...row, time_seconds: 0 });
    }),
  };
}

function differences(seen: EvalOutcome, reference: EvalOutcome): string[] {
  const problems: string[] = [];
  const [left, right] = [JSON.stringify(seen.result), JSON.stringify(reference.result)];
  if (left !== right) problems.push(`result.json differs: ${left} instead of ${right}`);
  const counts = [seen.trajectories.length, reference.trajectories.length] as const;
  if (counts[0] !== counts[1]) problems.push(`${counts[0]} trajectories instead of ${counts[1]}`);
  const index = reference.trajectories.findIndex((row, at) => row !== seen.trajectories[at]);
  if (index >= 0) problems.push(`trajectory ${index} differs: ${seen.trajectories[index] ?? 'none'}`);
  return problems;
}
