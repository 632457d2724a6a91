/** What the engine is busy with. Scoring: requests about the tokens of a prompt that draw one token at most. */
export type BusyKind = 'training' | 'sampling' | 'scoring';

/** Totals since the start of the process, in Prometheus' text format. */
export class EngineCounters {
  stepsApplied = 0;
  tokensTrained = 0;
  tokensSampled = 0;
  requests = 0;
  private readonly busy: Readonly<Record<BusyKind, BusyTime>> = {
    training: new BusyTime(),
    sampling: new BusyTime(),
    scoring: new BusyTime(),
  };

  /** Counts the time in which at least one piece of this kind of work is being executed. */
  async whileBusy<T>(kind: BusyKind, work: () => Promise<T>): Promise<T> {
    const time = this.busy[kind];
    time.start();
    try {
      return await work();
    } finally {
      time.end();
    }
  }

  render(): string {
    const seconds = Object.entries(this.busy).map(
      ([kind, time]) => [`{kind="${kind}"}`, time.milliseconds / 1000] as const,
    );
    return [
      counter('steps_applied', 'Optimizer steps applied', [['', this.stepsApplied]]),
      counter('tokens_trained', 'Tokens that went through a backward pass', [['', this.tokensTrained]]),
      counter('tokens_sampled', 'Tokens drawn', [['', this.tokensSampled]]),
      counter('requests', 'Protocol requests received', [['', this.requests]]),
      counter('busy_seconds', 'Seconds in which work of a kind was being executed; kinds overlap', seconds),
    ].join('');
  }
}

class BusyTime {
  private endedMs = 0;
  private since = 0;
  private activeCount = 0;

  get milliseconds(): number {
    return this.endedMs + (this.activeCount > 0 ? performance.now() - this.since : 0);
  }

  start(): void {
    if (this.activeCount++ === 0) this.since = performance.now();
  }

  end(): void {
    if (--this.activeCount === 0) this.endedMs += performance.now() - this.since;
  }
}

function counter(
  name: string,
  description: string,
  values: readonly (readonly [labels: string, value: number])[],
): string {
  const metric = `everstep_engine_${name}_total`;
  const lines = values.map(([labels, value]) => `${metric}${labels} ${value}\n`);
  return `# HELP ${metric} ${description}.\n# TYPE ${metric} counter\n${lines.join('')}`;
}
