import type { Output } from './output';

const FIRST_MS = 2000;
const NEXT_MS = 10_000;

/** Says at a terminal what a command is at when nothing was heard of it for two seconds, and then every ten. */
export class LongSilence {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly output: Pick<Output, 'reassure'>,
    /** Where it is at that moment. */
    private readonly tell: () => string,
  ) {
    this.wait(FIRST_MS);
  }

  end(): void {
    clearTimeout(this.timer);
  }

  private wait(milliseconds: number): void {
    this.timer = setTimeout(() => {
      this.output.reassure(this.tell());
      this.wait(NEXT_MS);
    }, milliseconds);
    // A command that has nothing else to do is over.
    this.timer.unref();
  }
}
