import type { Datum } from '../datum';
import { DomainError } from '../errors';
import type { RolloutAdvantage } from './advantages';
import { MASKED_TURN_METRIC } from './rollout';
import type { Rollout, RolloutGroup, Transition } from './rollout';

/**
 * A training sequence made of a rollout, N positions long.
 *
 * `datum` is what is sent, with loss inputs `logprobs` and `advantages`; the mask stays here, for metrics and penalties.
 */
export interface PolicyDatum {
  readonly datum: Datum;
  /** 1 where the policy wrote the target token and may learn from it. */
  readonly mask: Float32Array;
  readonly logprobs: Float32Array;
  readonly advantages: Float32Array;
  readonly groupIndex: number;
  readonly rolloutIndex: number;
}

type Place = Pick<PolicyDatum, 'groupIndex' | 'rolloutIndex'>;

/** Tokens in order, each with what it carries as a target. */
interface Sequence {
  readonly tokens: number[];
  readonly logprobs: number[];
  readonly advantages: number[];
  readonly mask: number[];
}

/** Sequences of all rollouts in order: `advantages[g][r]` belongs to rollout r of group g. */
export function policyDatums(
  groups: readonly RolloutGroup[],
  advantages: readonly ArrayLike<RolloutAdvantage>[],
): PolicyDatum[] {
  requireEqual('groups', groups.length, advantages.length);
  return groups.flatMap((group, groupIndex) => {
    const values = advantages[groupIndex] ?? [];
    requireEqual(`rollouts of group ${group.id}`, group.rollouts.length, values.length);
    return group.rollouts.flatMap((rollout, rolloutIndex) =>
      rolloutDatums(rollout, values[rolloutIndex] ?? 0, { groupIndex, rolloutIndex }),
    );
  });
}

/**
 * The sequences of one rollout. Turns whose observation begins with all that came before share a sequence; where the
 * environment rewrote history (dropped thinking, a summary), a new one begins.
 *
 * (O1, A1), (O1 A1 O2, A2), (O3, A3) give O1 A1 O2 A2 and O3 A3 (tinker-cookbook, `trajectory_to_data`). Targets are the
 * tokens shifted by one, so the first token is never a target, and a sequence of one token gives nothing.
 */
export function rolloutDatums(
  rollout: Rollout,
  advantage: RolloutAdvantage,
  place: Place = { groupIndex: 0, rolloutIndex: 0 },
): PolicyDatum[] {
  const sequences: Sequence[] = [];
  rollout.transitions.forEach((transition, turn) => {
    checkLogprobs(transition, turn);
    const current = sequences.at(-1);
    const isExtended = current !== undefined && startsWith(transition.observationTokens, current.tokens);
    const sequence = isExtended ? current : emptySequence();
    if (!isExtended) sequences.push(sequence);
    appendObservation(sequence, transition.observationTokens.slice(sequence.tokens.length));
    appendAction(sequence, transition, turnAdvantages(transition, turn, advantage));
  });
  return sequences.filter(({ tokens }) => tokens.length > 1).map((sequence) => shifted(sequence, place));
}

/** The same sequence with other advantages. */
export function withAdvantages(source: PolicyDatum, advantages: Float32Array): PolicyDatum {
  const { tokens, targetTokens } = source.datum;
  const lossInputs = { logprobs: source.logprobs, advantages };
  return { ...source, advantages, datum: { tokens, targetTokens, lossInputs } };
}

function emptySequence(): Sequence {
  return { tokens: [], logprobs: [], advantages: [], mask: [] };
}

function startsWith(tokens: readonly number[], start: readonly number[]): boolean {
  return start.every((token, index) => token === tokens[index]);
}

function appendObservation(sequence: Sequence, tokens: readonly number[]): void {
  for (const token of tokens) append(sequence, { token, logprob: 0, advantage: 0, mask: 0 });
}

function appendAction(sequence: Sequence, transition: Transition, advantages: readonly number[]): void {
  const mask = (transition.metrics[MASKED_TURN_METRIC] ?? 0) >= 1 ? 0 : 1;
  transition.actionTokens.forEach((token, index) => {
    const advantage = mask === 0 ? 0 : (advantages[index] ?? 0);
    append(sequence, { token, logprob: transition.logprobs[index] ?? 0, advantage, mask });
  });
}

function append(
  sequence: Sequence,
  entry: {
    readonly token: number;
    readonly logprob: number;
    readonly advantage: number;
    readonly mask: number;
  },
): void {
  sequence.tokens.push(entry.token);
  sequence.logprobs.push(entry.logprob);
  sequence.advantages.push(entry.advantage);
  sequence.mask.push(entry.mask);
}

function turnAdvantages(
  { actionTokens }: Transition,
  turn: number,
  advantage: RolloutAdvantage,
): readonly number[] {
  if (typeof advantage === 'number') return actionTokens.map(() => advantage);
  const values = advantage[turn] ?? [];
  requireEqual(`action tokens of turn ${turn + 1}`, actionTokens.length, values.length);
  return values;
}

function shifted({ tokens, logprobs, advantages, mask }: Sequence, place: Place): PolicyDatum {
  const lossInputs = {
    logprobs: Float32Array.from(logprobs.slice(1)),
    advantages: Float32Array.from(advantages.slice(1)),
  };
  return {
    datum: {
      tokens: Int32Array.from(tokens.slice(0, -1)),
      targetTokens: Int32Array.from(tokens.slice(1)),
      lossInputs,
    },
    mask: Float32Array.from(mask.slice(1)),
    ...lossInputs,
    ...place,
  };
}

function checkLogprobs({ actionTokens, logprobs }: Transition, turn: number): void {
  if (actionTokens.length === logprobs.length && logprobs.every(Number.isFinite)) return;
  throw new DomainError(
    'protocol-error',
    `Turn ${turn + 1} of a rollout has ${actionTokens.length} action tokens and ` +
      `${logprobs.filter(Number.isFinite).length} finite log-probabilities. Training on it needs one for each token: ` +
      'sample with a service that returns them.',
  );
}

function requireEqual(what: string, expected: number, found: number): void {
  if (expected === found) return;
  throw new DomainError(
    'bad-config',
    `${expected} ${what} and ${found} advantages for them. Filter groups before their advantages are computed.`,
  );
}
