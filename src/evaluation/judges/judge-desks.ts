import { setTimeout as delay } from 'node:timers/promises';
import type { JudgeSource } from '../../core/benchmark-run';
import type { Completer, Completion, CompletionRequest } from '../../core/completion';
import { GivenUpError } from '../../engines/openai/given-up';
import { digestOf, seedOf } from '../digest';
import { EXAMPLE_ATTEMPTS, isFault, isOfWholeCell, waitBefore } from '../evaluators/example-failures';
import type { Example } from '../example';
import type { JudgeDesk, JudgeQuestion } from '../graders/grader';
import { messageText } from '../runner/message-text';
import type { Permits } from '../runner/permits';
import type { JudgeAccess } from './judge-access';
import type { Judgement, Judgements } from './judgements';
import { JudgeFailedError } from './judge-failure';
import { judgeIdentity } from './judged-grader';

export interface DeskSite {
  readonly access: JudgeAccess;
  readonly judgements: Judgements;
  readonly signal: AbortSignal;
  /** Place among shards that ask the same judge; lower ones go first. */
  readonly rank: number;
}

/** A model that is ready to judge. */
interface OpenedJudge {
  readonly source: JudgeSource;
  readonly completer: Completer;
  readonly permits: Permits;
  readonly promptFormat: string;
}

interface Asking {
  readonly example: Example;
  readonly question: JudgeQuestion;
}

/** The judges of one shard. Each is opened when it is first asked. */
export class JudgeDesks {
  private readonly opened = new Map<string, Promise<OpenedJudge>>();
  /** Two completions with the same words need one judgement. */
  private readonly underWay = new Map<string, Promise<Judgement>>();

  constructor(private readonly site: DeskSite) {}

  /** The way to one judge, for one example. */
  deskOf(judge: JudgeSource, example: Example): JudgeDesk {
    const say = async (source: JudgeSource, question: JudgeQuestion) =>
      (await this.judgementOf(source, { example, question })).text;
    return { ask: (question) => say(judge, question), askModel: say };
  }

  async close(): Promise<void> {
    for (const opening of this.opened.values()) {
      const judge = await opening.catch(() => null);
      await judge?.completer.close();
    }
  }

  private async judgementOf(source: JudgeSource, asking: Asking): Promise<Judgement> {
    const judge = await this.open(source);
    const request = requestOf(judge, asking.question);
    const key = digestOf([judgeIdentity(source), judge.promptFormat, request]);
    const known = this.site.judgements.find(key);
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
      text: messageText(completion.message),
      stop_reason: completion.stopReason,
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
        if (isOfWholeCell(error)) throw error;
        if (attempt >= EXAMPLE_ATTEMPTS || !isWorthAnother(error)) {
          throw new JudgeFailedError(source.model.model, error);
        }
      }
      await delay(waitBefore(attempt), undefined, { signal });
    }
  }

  private open(source: JudgeSource): Promise<OpenedJudge> {
    const id = JSON.stringify(source);
    const known = this.opened.get(id);
    if (known) return known;
    const opening = this.openAnew(source);
    this.opened.set(id, opening);
    // Nobody keeps a judge that could not be reached from being tried again.
    opening.catch(() => this.opened.delete(id));
    return opening;
  }

  private async openAnew(source: JudgeSource): Promise<OpenedJudge> {
    const { access, signal } = this.site;
    const { model, concurrency, timeoutSeconds } = source;
    const { completer } = await access.models.open(model, {
      concurrency,
      contextWindow: null,
      timeoutMs: timeoutSeconds * 1000,
      signal,
    });
    return {
      source,
      completer,
      permits: access.permitsOf(permitName(source), concurrency),
      promptFormat: access.models.promptFormat(model),
    };
  }
}

/** The seed follows from what is asked, so that a repeated request is the same request. */
function requestOf({ source }: OpenedJudge, { messages, maxTokens }: JudgeQuestion): CompletionRequest {
  const { temperature, topP, vote } = source;
  const seed = seedOf(JSON.stringify(vote === undefined ? messages : [messages, vote]));
  return { messages, params: { maxTokens: source.maxTokens ?? maxTokens, temperature, topP, seed } };
}

function permitName({ model }: JudgeSource): string {
  const where = model.type === 'endpoint' ? model.url : (model.url ?? 'engine');
  return `judge ${where} ${model.model}`;
}

function isWorthAnother(error: unknown): boolean {
  return !isFault(error) && !(error instanceof GivenUpError);
}
