/** Work that stops wherever others may be let in: each `next` does a part of it that takes some ten milliseconds. */
export type Steps<Value> = Generator<undefined, Value>;

/** A new connection is taken in one round of the loop and read in the next. */
const ROUNDS = 3;

/** All of it at once. */
export function finish<Value>(steps: Steps<Value>): Value {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** After each step, everybody else who asks for something is answered. */
export async function inSteps<Value>(steps: Steps<Value>): Promise<Value> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await letOthers();
  }
}

export async function letOthers(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}
