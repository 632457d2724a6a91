/** Totals since the start of the process, in Prometheus' text format. */
export class EngineCounters {
  stepsApplied = 0;
  tokensTrained = 0;
  tokensSampled = 0;
  requests = 0;
  private busyMs = 0;
  private busySince = 0;
  private activeCount = 0;

  /** Counts the time in which at least one piece of training work is being executed. */
  async whileBusy<T>(work: () => Promise<T>): Promise<T> {
    if (this.activeCount++ === 0) this.busySince = performance.now();
    try {
      return await work();
    } finally {
      if (--this.activeCount === 0) this.busyMs += performance.now() - this.busySince;
    }
  }

  render(): string {
    const busyMs = this.busyMs + (this.activeCount > 0 ? performance.now() - this.busySince : 0);
    return [
      counter('steps_applied', 'Optimizer steps applied', this.stepsApplied),
      counter('tokens_trained', 'Tokens that went through a backward pass', this.tokensTrained),
      counter('tokens_sampled', 'Tokens drawn', this.tokensSampled),
      counter('requests', 'Protocol requests received', this.requests),
      counter('busy_seconds', 'Seconds in which training work was being executed', busyMs / 1000),
    ].join('');
  }
}

function counter(name: string, description: string, value: number): string {
  const metric = `everstep_engine_${name}_total`;
  return `# HELP ${metric} ${description}.\n# TYPE ${metric} counter\n${metric} ${value}\n`;
}
