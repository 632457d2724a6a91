import type { JudgeSource } from '../../core/benchmark-run';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import { WaitingReasons } from '../../core/concurrency/waiting-reasons';
import type { Completer } from '../../core/completion';
import type { Permits } from '../runner/permits';
import type { JudgeAccess } from './judge-access';

/** A model that is ready to judge. */
export interface OpenedJudge {
  readonly source: JudgeSource;
  readonly completer: Completer;
  readonly permits: Permits;
  readonly promptFormat: string;
}

/** The judges of one piece of work. Each is opened when it is first asked. */
export class JudgePool {
  private readonly opened = new Map<string, Promise<OpenedJudge>>();
  private readonly waits: WaitingReasons;

  /** `onWaiting`: told which judge keeps the work waiting, and why; null when none does. */
  constructor(
    private readonly access: JudgeAccess,
    private readonly signal: AbortSignal,
    onWaiting: TellWaiting = () => undefined,
  ) {
    this.waits = new WaitingReasons(onWaiting);
  }

  open(source: JudgeSource): Promise<OpenedJudge> {
    const id = JSON.stringify(source);
    const known = this.opened.get(id);
    if (known) return known;
    const opening = this.openAnew(source);
    this.opened.set(id, opening);
    // Nobody keeps a judge that could not be reached from being tried again.
    opening.catch(() => this.opened.delete(id));
    return opening;
  }

  async close(): Promise<void> {
    for (const opening of this.opened.values()) {
      const judge = await opening.catch(() => null);
      await judge?.completer.close();
    }
  }

  private async openAnew(source: JudgeSource): Promise<OpenedJudge> {
    const { access, signal } = this;
    const { model, concurrency, timeoutSeconds } = source;
    const tell = this.waits.part();
    const { completer } = await access.models.open(model, {
      concurrency,
      contextWindow: null,
      timeoutMs: timeoutSeconds * 1000,
      signal,
      onWaiting: (reason) => {
        tell(reason === null ? null : `judge ${model.model}: ${reason}`);
      },
    });
    return {
      source,
      completer,
      permits: access.permitsOf(permitName(source), concurrency),
      promptFormat: access.models.promptFormat(model),
    };
  }
}

function permitName({ model }: JudgeSource): string {
  const where = model.type === 'endpoint' ? model.url : (model.url ?? 'engine');
  return `judge ${where} ${model.model}`;
}
