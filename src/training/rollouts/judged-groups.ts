import type { JudgeSource } from '../../core/benchmark-run';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import { DomainError } from '../../core/errors';
import { asSentence } from '../../core/sentences';
import { isOfWholeCell } from '../../evaluation/evaluators/example-failures';
import type { Grader, Score } from '../../evaluation/graders/grader';
import type { JudgeAccess } from '../../evaluation/judges/judge-access';
import { JudgeDesks } from '../../evaluation/judges/judge-desks';
import { JudgePool } from '../../evaluation/judges/judge-pool';
import { judgeAt } from '../../evaluation/judges/open-judging';
import type { Judgement } from '../../evaluation/judges/judgements';
import { SharedJudgements } from '../../evaluation/judges/shared-judgements';
import type { EnvironmentGroup } from '../environments/environment-dataset';
import { EnvironmentAway } from '../environments/python/python-calls';
import { GroupDrafts } from './group-drafts';
import type { JudgedPlay } from './judged-play';
import { RolloutFailure } from './rollout-failure';
import type { GroupPlace } from './rollout-rows';

interface PlayPlace {
  readonly place: GroupPlace;
  readonly signal: AbortSignal;
}

interface JudgedWork {
  readonly signal: AbortSignal;
  /** Told which judge keeps the work waiting, and why; null when none does. */
  readonly onWaiting?: TellWaiting | undefined;
}

/** The way to judges for the groups of one piece of work; a judge is opened when it is first asked. */
export class JudgedGroups {
  private readonly pool: JudgePool | null;
  private readonly shared: SharedJudgements<Judgement>;

  constructor(
    access: JudgeAccess | undefined,
    private readonly runFolder: string,
    { signal, onWaiting = () => undefined }: JudgedWork,
  ) {
    this.pool = access ? new JudgePool(access, signal, onWaiting) : null;
    this.shared = new SharedJudgements(access?.cacheFolder ?? null);
  }

  /** null where no model judges the group. */
  play({ isJudged }: EnvironmentGroup, { place, signal }: PlayPlace): JudgedPlay | null {
    const { pool, shared, runFolder } = this;
    if (!isJudged || pool === null) return null;
    const drafts = new GroupDrafts({ runFolder, place, shared });
    const desks = new JudgeDesks({ pool, judgements: drafts, signal, rank: place.group });
    return {
      askJudges: (grader, judges) => ({
        ...grader,
        grade: (completion, example) => graded(judgeWith(grader, judges, desks), completion, example),
      }),
      samplerOver: (sampler, policyVersion) => drafts.samplerOver(sampler, policyVersion),
      settle: () => drafts.settle(),
      discard: () => drafts.discard(),
    };
  }

  async close(): Promise<void> {
    await this.pool?.close();
  }
}

type Grade = (...asked: Parameters<Grader['grade']>) => Promise<Score>;

function judgeWith({ judging }: Grader, judges: readonly JudgeSource[], desks: JudgeDesks): Grade {
  return (completion, example) => {
    if (!judging) throw new TypeError('Only graders that ask judges are opened.');
    return judgeAt({ judging, judges, desks }, completion, example);
  };
}

/** A judge that is away is waited for, as the service is; one that fails for an answer costs its rollout. */
async function graded(grade: Grade, ...asked: Parameters<Grader['grade']>): Promise<Score> {
  try {
    return await grade(...asked);
  } catch (error) {
    if (error instanceof DomainError && isOfWholeCell(error)) throw new EnvironmentAway(asJudges(error));
    throw new RolloutFailure('judge_error', error);
  }
}

/** What a run can only wait for: somebody pays, or gives the workers another key, and every completion is kept meanwhile. */
const REFUSALS = ['unauthorized', 'payment-required'];

/** What it says of the judge must not be taken for the training service's own words. */
function asJudges(error: DomainError): DomainError {
  const { code, message, category } = error;
  const cause = { cause: error, ...(category && { category }) };
  if (REFUSALS.includes(code)) {
    const told = `A judge refuses to answer: ${asSentence(message)} The run goes on when it answers.`;
    return new DomainError('unreachable', told, { ...cause, retryable: true });
  }
  if (code !== 'checkpoint-missing') return error;
  return new DomainError('bad-config', `The weights of a judge are gone: ${asSentence(message)}`, cause);
}
