import { DomainError } from '../../core/errors';
import { readRows } from '../../datasets/read-rows';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';

/** Reads `environment.path` where the config has one, else the rows that the field trains on. */
export function ownRowsOr(read: ReadBenchmarkRows, path: string | undefined): ReadBenchmarkRows {
  if (path !== undefined) return () => readRows({ path, key: 'environment.path', listsUnread: true });
  return async (benchmark, data) => {
    try {
      return await read(benchmark, data);
    } catch (error) {
      throw withOwnRows(error);
    }
  };
}

function withOwnRows(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  const { code, retryable, category } = error;
  const remedy = 'Or name a file of your own under environment.path.';
  return new DomainError(code, `${error.message} ${remedy}`, {
    ...{ retryable, cause: error },
    ...(category && { category }),
  });
}
