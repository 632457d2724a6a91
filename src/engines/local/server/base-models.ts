import type { BaseModelInfo, ModelRuntime } from '../model-runtime';
import { ProtocolError } from './protocol-error';

export function requireBaseModel(runtime: ModelRuntime, name: string): BaseModelInfo {
  const base = runtime.baseModels.find((candidate) => candidate.name === name);
  if (base) return base;
  const known = runtime.baseModels.map((candidate) => candidate.name).join(', ');
  throw new ProtocolError(400, `Unknown base model "${name.slice(0, 200)}". Known: ${known}.`);
}
