import { DomainError } from '../../core/errors';
import type { ExampleScores } from './example-scores';
import { hasIdentity, identityDifferences } from './identity-differences';

export interface Side extends ExampleScores {
  readonly label: string;
}

export interface ComparedSides {
  readonly benchmark: string;
  readonly a: Side;
  readonly b: Side;
  readonly sharedCount: number;
}

/** What a reader must know before believing a comparison. */
export function warningsOf(compared: ComparedSides): string[] {
  const { benchmark, a, b } = compared;
  return [
    ...identityWarnings(compared),
    ...sharingWarnings(compared),
    ...[a, b].flatMap((side) => sideWarnings(benchmark, side)),
  ];
}

/** Other examples under the same name: whatever the difference, it says nothing of the models. */
export function refuseDisjoint(benchmark: string, a: Side, b: Side): never {
  const hashes = [a, b].map(({ label, result }) => `${label} ${result.identity.dataHash || 'unknown'}`);
  throw new DomainError(
    'bad-config',
    `${benchmark}: ${a.label} and ${b.label} share no example (${a.scores.size} and ${b.scores.size} counted; dataHash: ${hashes.join(', ')}). ` +
      'Evaluate both on the same data, or choose other benchmarks with --benchmark.',
  );
}

function identityWarnings({ benchmark, a, b }: ComparedSides): string[] {
  const silent = [a, b].filter(({ result }) => !hasIdentity(result));
  if (silent.length > 0) {
    const labels = silent.map(({ label }) => label).join(' and ');
    return [
      `${benchmark}: ${labels} does not say how it was made (no identity), so nothing could be checked.`,
    ];
  }
  return identityDifferences(a.result.identity, b.result.identity)
    .filter(({ key }) => key !== 'dataHash' || !isPartOf(a, b))
    .map(
      (part) =>
        `${benchmark}: ${part.key} differs: ${a.label} ${part.a}, ${b.label} ${part.b}. The difference may come from it.`,
    );
}

/** One side has fewer examples, as `--max-examples` chooses: ids are made of the content, so the shared ones are the same. */
function isPartOf(a: Side, b: Side): boolean {
  const [few, many] = a.scores.size < b.scores.size ? [a, b] : [b, a];
  return few.scores.size < many.scores.size && [...few.scores.keys()].every((id) => many.scores.has(id));
}

function sharingWarnings({ benchmark, a, b, sharedCount }: ComparedSides): string[] {
  const [extraA, extraB] = [a.scores.size - sharedCount, b.scores.size - sharedCount];
  if (extraA + extraB === 0) return [];
  if (!a.isCompletedOnly && (extraA === 0 || extraB === 0)) {
    const [few, many] = extraA === 0 ? [a, b] : [b, a];
    return [
      `${benchmark}: ${few.label} has ${few.scores.size} of ${many.label}'s ${many.scores.size} examples; compared on those.`,
    ];
  }
  const shared = a.isCompletedOnly ? 'completed on both sides' : 'are shared';
  return [
    `${benchmark}: ${sharedCount} examples ${shared}; ${extraA} of ${a.label} alone and ${extraB} of ${b.label} alone are left out.`,
  ];
}

function sideWarnings(benchmark: string, side: Side): string[] {
  const { label, incomplete, unscored, malformedCount, isCompletedOnly } = side;
  const treatment = isCompletedOnly
    ? 'left out unless another sample of them completed'
    : 'such samples count 0; --completed-only leaves them out on both sides';
  const { failed, cut } = incomplete;
  const lacking = [
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(cut > 0 ? [`${cut} cut at the token limit`] : []),
  ].join(', ');
  return [
    ...(lacking === ''
      ? []
      : [`${benchmark}: examples of ${label} without a whole answer: ${lacking} (${treatment}).`]),
    ...unscoredTexts(label, unscored).map((text) => `${benchmark}: ${text}`),
    ...(malformedCount > 0
      ? [`${benchmark}: unreadable lines in trajectories.jsonl of ${label}: ${malformedCount} (passed over).`]
      : []),
  ];
}

function unscoredTexts(label: string, { count, wholeCount }: Side['unscored']): string[] {
  const others = count - wholeCount;
  return [
    ...(wholeCount > 0
      ? [`examples of ${label} without a readable verdict: ${wholeCount} (they are left out).`]
      : []),
    ...(others > 0
      ? [
          `examples of ${label} with samples that have no readable verdict: ${others} (their other samples are what they score).`,
        ]
      : []),
  ];
}
