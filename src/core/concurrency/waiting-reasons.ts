/** Tells what keeps it waiting, each time it is tried in vain; null when it goes on. */
export type TellWaiting = (reason: string | null) => void;

/** What several parts of one piece of work wait for, told as one: the reason of the part that has waited longest. */
export class WaitingReasons {
  private readonly reasons = new Map<TellWaiting, string>();

  constructor(private readonly tell: TellWaiting) {}

  /** For one part. It hears of the others only through `tell`. */
  part(): TellWaiting {
    const tell: TellWaiting = (reason) => {
      if (reason === null && !this.reasons.delete(tell)) return;
      if (reason !== null) this.reasons.set(tell, reason);
      const [longest = null] = this.reasons.values();
      this.tell(longest);
    };
    return tell;
  }
}
