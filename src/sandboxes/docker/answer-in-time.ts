export const ANSWER_LIMIT_MS = 30_000;

/** Rejects where an answer takes too long; a late failure is nobody's. */
export async function answerInTime<Result>(work: Promise<Result>, limitMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`the engine has not answered within ${limitMs / 1000} s`));
    }, limitMs);
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
