import { DomainError } from '../../core/errors';
import { parseCheckpointPath } from '../../engines/tinker/checkpoint-path';
import type { ConnectionOptions } from '../../engines/tinker/connection';
import { createConnection } from '../../engines/tinker/connection';

/** Which model a checkpoint was trained from, as its service knows. */
export async function askBaseModel(options: ConnectionOptions, path: string): Promise<string> {
  parseCheckpointPath(path);
  const connection = createConnection(options);
  try {
    const info = await connection.request({
      route: 'weights_info',
      subject: { what: `weights_info ${path}`, missing: 'checkpoint-missing' },
      body: { tinker_path: path },
    });
    const name = info['base_model'];
    if (typeof name === 'string') return name;
    throw unknownBase(path, 'it gives no name');
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'request-failed') throw error;
    throw unknownBase(path, error.message);
  } finally {
    await connection.close();
  }
}

function unknownBase(path: string, why: string): DomainError {
  return new DomainError(
    'bad-config',
    `The training service does not say what ${path} was trained from (${why}). Where it has it, name the base: BASE_MODEL=${path}.`,
  );
}
