import { LONGEST_TIMER_MS } from '../core/longest-timer';
import type { SilenceLimit } from './sandbox';

/** A program whose lines say how far it is. */
export interface SpeakingProgram {
  /** It is not watched without one. */
  readonly silence: SilenceLimit | undefined;
  readonly heardLines: () => number;
  /** Time that counts since it began. */
  readonly usedMs: () => number;
  readonly onLimit: () => void;
}

const LOOKS = 10;

/** Looks whether a further line has come within its time; returns what ends the looking. */
export function watchSilence({ silence, heardLines, usedMs, onLimit }: SpeakingProgram): () => void {
  if (!silence) return () => undefined;
  const { limitMs, lineCount } = silence;
  let heard = 0;
  let since = 0;
  const timer = setInterval(
    () => {
      const used = usedMs();
      const lines = Math.min(heardLines(), lineCount);
      if (lines > heard) [heard, since] = [lines, used];
      else if (used - since >= limitMs) onLimit();
    },
    Math.min(limitMs / LOOKS, LONGEST_TIMER_MS),
  );
  return () => {
    clearInterval(timer);
  };
}
