import type { BenchmarkRequest } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import { JUDGED_NAMES } from '../benchmarks/catalogue-names';

const OWN =
  'One of your own is judged by a model where its plug-in file gives it "judge", e.g. { rubric: ["…"] }, in place of a grader (docs/judges.md).';

/** Judges that no benchmark would ask. */
export function judgesNothing(names: readonly string[]): DomainError {
  const what = names.length === 1 ? `${names.join()} is not` : `none of ${names.join(', ')} is`;
  return new DomainError(
    'bad-config',
    `--judge: ${what} judged by a model. Leave the judge out, or name a benchmark that is: ${[...JUDGED_NAMES].join(', ')}. ${OWN}`,
  );
}

/** Refused before anything is asked. Requests that do not say what else was named with them may stand beside one that is judged. */
export function refuseUnaskedJudges(
  { judges, judgesFor: names }: Pick<BenchmarkRequest, 'judges' | 'judgesFor'>,
  isJudged: (name: string) => boolean,
): void {
  if (!judges || !names || names.some((name) => isJudged(name))) return;
  throw judgesNothing(names);
}
