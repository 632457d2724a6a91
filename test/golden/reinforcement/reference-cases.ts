import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { PolicyDatum } from '../../../src/core/reinforcement/rollout-datums';
import type { Rollout, RolloutGroup, Transition } from '../../../src/core/reinforcement/rollout';

/** Reading what tinker-cookbook 9dfcc3a2cf44 does into our types. The cases are kept beside the repository. */

export interface ReferenceCase<Input, Expected> {
  readonly input: Input;
  readonly expected: Expected;
}

interface CaseFile {
  readonly source: string;
  readonly cases?: unknown;
  readonly groups?: readonly { readonly source: string; readonly cases: unknown }[];
}

/** Cases of one function; null where the files are absent. */
export function referenceCases<Input, Expected>(
  file: string,
  source: string,
): readonly ReferenceCase<Input, Expected>[] | null {
  const folder = process.env['EVERSTEP_VECTORS_DIR'] ?? resolve(__dirname, '../../../../shared/vectors');
  const path = join(folder, file);
  if (!existsSync(path)) return null;
  const content = JSON.parse(readFileSync(path, 'utf8')) as CaseFile;
  const found = [content, ...(content.groups ?? [])].find((entry) => entry.source === source);
  if (!found?.cases) throw new Error(`${path} has no cases of "${source}"`);
  return found.cases as ReferenceCase<Input, Expected>[];
}

/** Runs where the cases are, and says so where they are not. */
export function testWith<Input, Expected>(
  name: string,
  cases: readonly ReferenceCase<Input, Expected>[] | null,
  check: (one: ReferenceCase<Input, Expected>) => void,
): void {
  if (cases === null) {
    test.skip(`${name}: the reference's cases are not on this machine (EVERSTEP_VECTORS_DIR)`, () =>
      undefined);
    return;
  }
  test(`${name} (${cases.length} cases)`, () => {
    expect(cases.length).toBeGreaterThan(0);
    cases.forEach(check);
  });
}

export interface ReferenceTurn {
  readonly ob: readonly number[];
  readonly ac: readonly number[];
  readonly lp: readonly number[];
  readonly reward: number;
  readonly metrics?: Readonly<Record<string, number>>;
}

export interface ReferenceGroup {
  readonly trajectories: readonly (readonly ReferenceTurn[])[];
  readonly final_rewards: readonly number[];
  readonly metrics?: readonly Readonly<Record<string, number>>[];
}

export interface ReferenceDatum {
  readonly input_tokens: readonly number[];
  readonly target_tokens: readonly number[];
  readonly logprobs: readonly number[];
  readonly advantages: readonly number[];
  readonly mask: readonly number[];
}

export interface ReferenceInputDatum {
  readonly inp: readonly number[];
  readonly tgt: readonly number[];
  readonly lp: readonly number[];
  readonly adv: readonly number[];
  readonly mask: readonly number[];
}

export function toRollout(turns: readonly ReferenceTurn[], finalReward = 0): Rollout {
  return { transitions: turns.map(toTransition), finalReward, metrics: {}, stopReason: null };
}

export function toGroup(group: ReferenceGroup, tags: readonly string[] = []): RolloutGroup {
  const rollouts = group.trajectories.map((turns, index) => ({
    ...toRollout(turns, group.final_rewards[index]),
    metrics: group.metrics?.[index] ?? {},
  }));
  return { id: 'group', tags, rollouts };
}

export function toPolicyDatum({ inp, tgt, lp, adv, mask }: ReferenceInputDatum): PolicyDatum {
  const lossInputs = { logprobs: Float32Array.from(lp), advantages: Float32Array.from(adv) };
  return {
    datum: { tokens: Int32Array.from(inp), targetTokens: Int32Array.from(tgt), lossInputs },
    mask: Float32Array.from(mask),
    ...lossInputs,
    groupIndex: 0,
    rolloutIndex: 0,
  };
}

/** What is sent and what stays here must agree; compared in one piece. */
export function fromPolicyDatum({ datum, mask, logprobs, advantages }: PolicyDatum): ReferenceDatum {
  expect(datum.lossInputs).toEqual({ logprobs, advantages });
  return {
    input_tokens: [...datum.tokens],
    target_tokens: [...datum.targetTokens],
    logprobs: [...logprobs],
    advantages: [...advantages],
    mask: [...mask],
  };
}

/** Equal up to float32 rounding: 1e-5 of the value, or 1e-6 where it is next to nothing. */
export function expectClose(found: Iterable<number>, expected: Iterable<number>): void {
  const values = [...found];
  const wanted = [...expected];
  expect(values).toHaveLength(wanted.length);
  const worst = values.filter((value, index) => {
    const target = wanted[index] ?? NaN;
    return !(Math.abs(value - target) <= Math.max(1e-6, 1e-5 * Math.abs(target)));
  });
  if (worst.length > 0) expect(values).toEqual(wanted);
}

export function expectCloseRecord(found: Record<string, number>, expected: Record<string, number>): void {
  const keys = Object.keys(expected).sort();
  expect(Object.keys(found).sort()).toEqual(keys);
  expectClose(
    keys.map((key) => found[key] ?? NaN),
    keys.map((key) => expected[key] ?? NaN),
  );
}

function toTransition({ ob, ac, lp, reward, metrics = {} }: ReferenceTurn): Transition {
  return {
    observationTokens: ob,
    actionTokens: ac,
    logprobs: lp,
    reward,
    isDone: false,
    metrics,
    logs: {},
    stopReason: 'stop',
    policyVersion: 0,
  };
}
