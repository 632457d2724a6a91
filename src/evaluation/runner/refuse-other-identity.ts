import { join } from 'node:path';
import type { BenchmarkPlace } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import type { ResultIdentity } from '../../stores/eval-store';
import type { Making, OptionDifference } from './option-differences';
import { differencesText, makingDifferences } from './option-differences';

/** Who is asked and how. The examples and the version decide what is asked, and how answers are judged. */
type Asking = Pick<ResultIdentity, 'model' | 'checkpoint' | 'promptHash' | 'sampling'>;

const ANEW = 'Use another --run NAME or --output DIR';

/** Results of two makings must not share a folder: refused with each option that differs, both values, and what can be done. */
export function refuseOtherIdentity(place: BenchmarkPlace, there: Making, asked: Making): void {
  if (!isSameIdentity(there.identity, asked.identity)) throw otherIdentity(place, there, asked);
}

export function otherIdentity(place: BenchmarkPlace, there: Making, asked: Making): DomainError {
  const { folder, benchmark } = place;
  const differences = differencesText(makingDifferences(there, asked));
  return new DomainError(
    'refused',
    `${benchmark} in ${folder} was begun with ${differences}. ${remedyOf(place, there, asked)}`,
  );
}

/** Whatever the order of its keys. */
export function isSameIdentity(one: ResultIdentity, other: ResultIdentity): boolean {
  return textOf(one) === textOf(other);
}

/** In what two makings differ in who is asked and how; empty where answers of the one are answers of the other, prompt by prompt. */
export function askingDifferences(there: Making, asked: Making): OptionDifference[] {
  const identity = { ...there.identity, ...askingOf(asked.identity) };
  return makingDifferences(there, { ...asked, identity });
}

/** What is paid for is used again where it can be. */
function remedyOf(place: BenchmarkPlace, there: Making, asked: Making): string {
  const { questionsHash } = there;
  const isAskedAlike = textOf(askingOf(there.identity)) === textOf(askingOf(asked.identity));
  if (questionsHash === undefined || !isAskedAlike) return `${ANEW}, or ask as before.`;
  const run = nameOf(place);
  const anew = `--run NAME --answers-from ${run} asks only prompts without an answer`;
  if (questionsHash !== asked.questionsHash) return `${ANEW}: ${anew}.`;
  const again = there.identity.judges
    ? `everstep results rejudge ${run} --judge MODEL`
    : `everstep results regrade ${run}`;
  return `Its answers are kept: \`${again}\` judges them again and asks no model. ${ANEW} to leave it as it is: ${anew}.`;
}

/** What commands find its results by. */
function nameOf({ run, folder }: BenchmarkPlace): string {
  return folder.endsWith(join('evals', run)) ? run : folder;
}

function askingOf({ model, checkpoint, promptHash, sampling }: ResultIdentity): Asking {
  return { model, checkpoint, promptHash, sampling };
}

function textOf({ sampling, ...others }: Partial<ResultIdentity>): string {
  const inner = Object.entries(sampling ?? {}).map(([key, value]) => [`sampling.${key}`, value] as const);
  return JSON.stringify(
    [...Object.entries(others), ...inner].sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}
