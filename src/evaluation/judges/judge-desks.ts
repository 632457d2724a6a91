import { setTimeout as delay } from 'node:timers/promises';
import type { JudgeSource } from '../../core/benchmark-run';
import type { Completion, CompletionRequest } from '../../core/completion';
import { GivenUpError } from '../../engines/openai/given-up';
import { digestOf, seedOf } from '../digest';
import { EXAMPLE_ATTEMPTS, isFault, isOfWholeCell, waitBefore } from '../evaluators/example-failures';
import type { Example } from '../example';
import type { JudgeDesk, JudgeQuestion } from '../graders/grader';
import { answerText, messageText } from '../runner/message-text';
import { JudgeFailedError, namingJudge } from './judge-failure';
import type { JudgePool, OpenedJudge } from './judge-pool';
import type { Judgement, JudgementStore } from './judgements';
import { judgeIdentity } from './judged-grader';

export interface DeskSite {
  readonly pool: JudgePool;
  readonly judgements: JudgementStore;
  readonly signal: AbortSignal;
  /** Place among shards that ask the same judge; lower ones go first. */
  readonly rank: number;
}

interface Asking {
  readonly example: Example;
  readonly question: JudgeQuestion;
}

/** The ways to judges, for examples whose judgements are kept in one place. */
export class JudgeDesks {
  /** Two completions with the same words need one judgement. */
  private readonly underWay = new Map<string, Promise<Judgement>>();

  constructor(private readonly site: DeskSite) {}

  /** The way to one judge, for one example. */
  deskOf(judge: JudgeSource, example: Example): JudgeDesk {
    const say = (source: JudgeSource, question: JudgeQuestion) =>
      this.judgementOf(source, { example, question });
    return {
      ask: async (question) => verdictIn(await say(judge, question)),
      askModel: async (source, question) => (await say(source, question)).text,
    };
  }

  private async judgementOf(source: JudgeSource, asking: Asking): Promise<Judgement> {
    const judge = await this.site.pool.open(source);
    const request = requestOf(judge, asking.question);
    const key = digestOf([judgeIdentity(source), judge.promptFormat, request]);
    const known = await this.site.judgements.find(key);
    if (known) return known;
    const present = this.underWay.get(key);
    if (present) return present;
    const work = this.obtain(judge, { ...asking, request, key }).finally(() => this.underWay.delete(key));
    this.underWay.set(key, work);
    return work;
  }

  private async obtain(
    judge: OpenedJudge,
    {
      example,
      question,
      request,
      key,
    }: Asking & { readonly request: CompletionRequest; readonly key: string },
  ): Promise<Judgement> {
    const { judgements } = this.site;
    const facts = { example_id: example.id, stage: question.stage };
    const isShared = judge.source.isFresh !== true;
    const elsewhere = isShared ? await judgements.findElsewhere(key, facts) : null;
    if (elsewhere) return elsewhere;
    const completion = await this.askWithPermit(judge, request);
    const judgement: Judgement = {
      key,
      ...facts,
      judge: judge.source.model.model,
      text: question.tools ? answerText(completion.message) : messageText(completion.message),
      stop_reason: completion.stopReason,
      ...(completion.isRefusal && { is_refusal: true }),
      prompt_tokens: completion.promptTokenCount,
      completion_tokens: completion.completionTokenCount,
      time_seconds: completion.seconds,
    };
    await judgements.keep(judgement, isShared);
    return judgement;
  }

  private async askWithPermit(judge: OpenedJudge, request: CompletionRequest): Promise<Completion> {
    const { signal, judgements, rank } = this.site;
    await judge.permits.take(rank);
    try {
      signal.throwIfAborted();
      // After the wait for a permit, in which a later attempt may have taken over.
      await judgements.mayAsk();
      return await this.complete(judge, request);
    } finally {
      judge.permits.give();
    }
  }

  private async complete(
    { completer, source }: OpenedJudge,
    request: CompletionRequest,
  ): Promise<Completion> {
    const { signal } = this.site;
    for (let attempt = 1; ; attempt++) {
      try {
        return await completer.complete(request, { signal, timeoutMs: source.timeoutSeconds * 1000 });
      } catch (error) {
        signal.throwIfAborted();
        if (isOfWholeCell(error)) throw namingJudge(source.model.model, error);
        if (attempt >= EXAMPLE_ATTEMPTS || !isWorthAnother(error)) {
          throw new JudgeFailedError(source.model.model, error);
        }
      }
      await delay(waitBefore(attempt), undefined, { signal });
    }
  }
}

/** Of a judge that declined, or that a filter silenced, no word is a verdict: it may say a letter that means one. */
function verdictIn({ text, stop_reason: stop, is_refusal: isRefusal }: Judgement): string {
  return isRefusal === true || stop === 'content_filter' ? '' : text;
}

/** The seed follows from what is asked, so that a repeated request is the same request. */
function requestOf(
  { source }: OpenedJudge,
  { messages, tools, maxTokens }: JudgeQuestion,
): CompletionRequest {
  const { temperature, topP, vote } = source;
  const seed = seedOf(JSON.stringify(vote === undefined ? messages : [messages, vote]));
  const params = { maxTokens: source.maxTokens ?? maxTokens, temperature, topP, seed };
  return { messages, params, ...(tools && { tools }) };
}

function isWorthAnother(error: unknown): boolean {
  return !isFault(error) && !(error instanceof GivenUpError);
}
