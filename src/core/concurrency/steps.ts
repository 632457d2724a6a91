/** Work that stops wherever others may be let in: each `next` does a part of it that takes some ten milliseconds. */
export type Steps<Value> = Generator<undefined, Value>;

/** All of it at once. */
export function finish<Value>(steps: Steps<Value>): Value {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
