const BEAT_MS = 500;

export interface Stillness {
  readonly longestMs: () => number;
  readonly stop: () => void;
}

/** How long the event loop stood still at most. */
export function watchStillness(now = () => performance.now()): Stillness {
  let [last, longest] = [now(), 0];
  const look = () => {
    const time = now();
    longest = Math.max(longest, time - last);
    last = time;
    return longest;
  };
  const timer = setInterval(look, BEAT_MS).unref();
  return {
    longestMs: look,
    stop: () => {
      clearInterval(timer);
    },
  };
}
