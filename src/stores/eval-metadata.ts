import { join } from 'node:path';
import { DomainError } from '../core/errors';
import { DEEPEST_JSON, isDeeperThan } from '../core/json-depth';
import type { EvalRunMetadata } from './eval-run-store';
import { isRecord } from './json-lines';
import { readJson } from './whole-file';

const TEXTS = ['run_id', 'model_name', 'timestamp', 'checkpoint_path', 'checkpoint_name'] as const;

/**
 * `metadata.json` of a folder of results, to write it elsewhere; null where there is none. Other tools' may say less; one of other
 * types, or too deep to be written, is refused by its name.
 */
export async function readEvalMetadata(folder: string): Promise<Partial<EvalRunMetadata> | null> {
  const file = join(folder, 'metadata.json');
  const metadata = await readJson<Partial<EvalRunMetadata>>(file);
  const fault = metadata && faultOf(metadata);
  if (fault === null) return metadata;
  throw new DomainError(
    'bad-config',
    `${JSON.stringify(file)} is damaged: ${fault}. Put it back from a copy, or move it away: the results are told without it.`,
  );
}

function faultOf(metadata: Partial<EvalRunMetadata>): string | null {
  if (isDeeperThan(metadata, DEEPEST_JSON)) return `it nests more than ${DEEPEST_JSON} deep`;
  const wrong = TEXTS.find((name) => typeof (metadata[name] ?? '') !== 'string');
  if (wrong !== undefined) return `"${wrong}" has to be a text`;
  return isRecord(metadata.config ?? {}) ? null : '"config" has to be an object';
}
