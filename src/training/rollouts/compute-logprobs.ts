import { mapWithLimit } from '../../core/concurrency/map-with-limit';
import { DomainError } from '../../core/errors';
import type { Rollout, RolloutGroup, Transition } from '../../core/reinforcement/rollout';
import type { Sampler } from '../../core/sampling';

/** Turns that share one sequence, and the place of the first among the rollout's. */
interface Chain {
  readonly tokens: readonly number[];
  readonly turns: readonly number[];
}

/** Requests at once. */
const CONCURRENCY = 16;

/**
 * The group with each action's log-probabilities as the sampler's weights give them, at temperature 1: for weights other
 * than those that drew it, or to see how far a service's sampling and scoring differ. A conversation is scored once,
 * not once a turn.
 */
export async function computeLogprobs<Group extends RolloutGroup>(
  sampler: Sampler,
  group: Group,
  { signal }: { readonly signal: AbortSignal },
): Promise<Group> {
  const rollouts = await mapWithLimit(group.rollouts, CONCURRENCY, (rollout) =>
    rescored(sampler, rollout, signal),
  );
  return { ...group, rollouts };
}

async function rescored(sampler: Sampler, rollout: Rollout, signal: AbortSignal): Promise<Rollout> {
  const { transitions } = rollout;
  const logprobs = new Map<number, readonly number[]>();
  for (const { tokens, turns } of chainsOf(transitions)) {
    const scores = await scoresOf(sampler, tokens, signal);
    for (const turn of turns) {
      const { observationTokens, actionTokens } = transitions[turn] ?? NO_TOKENS;
      const start = observationTokens.length;
      logprobs.set(turn, scores.slice(start, start + actionTokens.length));
    }
  }
  return {
    ...rollout,
    transitions: transitions.map((turn, index) => ({
      ...turn,
      logprobs: logprobs.get(index) ?? turn.logprobs,
    })),
  };
}

const NO_TOKENS = { observationTokens: [], actionTokens: [] };

function chainsOf(transitions: readonly Transition[]): readonly Chain[] {
  const chains: Chain[] = [];
  transitions.forEach(({ observationTokens, actionTokens }, turn) => {
    if (actionTokens.length === 0) return;
    const tokens = [...observationTokens, ...actionTokens];
    const last = chains.at(-1);
    const continues = last?.tokens.every((token, index) => token === observationTokens[index]) === true;
    if (last && continues) chains[chains.length - 1] = { tokens, turns: [...last.turns, turn] };
    else chains.push({ tokens, turns: [turn] });
  });
  return chains;
}

/** One for each token; the first predicts nothing and has 0. */
async function scoresOf(
  sampler: Sampler,
  tokens: readonly number[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  // The protocol draws at least one token; only the prompt's log-probs are wanted.
  const params = { maxTokens: 1, temperature: 1, topK: -1, topP: 1, seed: 0 };
  const request = { prompt: tokens, numSamples: 1, params, promptLogprobs: true };
  const { promptLogprobs } = await sampler.sample(request, { signal });
  if (promptLogprobs?.length === tokens.length) return promptLogprobs.map((logprob) => logprob ?? 0);
  throw new DomainError(
    'protocol-error',
    `The engine gave ${promptLogprobs?.length ?? 'no'} prompt log-probs for ${tokens.length} tokens. ` +
      'Re-scoring rollouts needs an engine that gives them.',
  );
}
