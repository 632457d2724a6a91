import { ProtocolError } from '../protocol-error';

/** `weights` hold what training resumes from, `sampler_weights` what sampling needs, `external_weights` what other programs load. */
export const KINDS = ['weights', 'sampler_weights', 'external_weights'] as const;
export type CheckpointKind = (typeof KINDS)[number];

export interface CheckpointAddress {
  readonly modelId: string;
  readonly kind: CheckpointKind;
  readonly name: string;
}

const MODEL_ID = /^[A-Za-z0-9-]+:train:\d+$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

export function isCheckpointName(name: string): boolean {
  return NAME.test(name);
}

/** `tinker://{model id}/{kind}/{name}` */
export function formatCheckpointPath({ modelId, kind, name }: CheckpointAddress): string {
  return `tinker://${modelId}/${kind}/${name}`;
}

export function parseCheckpointPath(path: string): CheckpointAddress {
  const [modelId, kind, name, ...rest] = path.startsWith('tinker://')
    ? path.slice('tinker://'.length).split('/')
    : [];
  if (modelId === undefined || kind === undefined || name === undefined || rest.length > 0) {
    throw badPath(path);
  }
  return checkAddress({ modelId, kind, name });
}

export function checkAddress(parts: { modelId: string; kind: string; name: string }): CheckpointAddress {
  const { modelId, kind, name } = parts;
  if (!MODEL_ID.test(modelId) || !isCheckpointName(name))
    throw badPath(`tinker://${modelId}/${kind}/${name}`);
  const known = KINDS.find((candidate) => candidate === kind);
  if (!known) throw badPath(`tinker://${modelId}/${kind}/${name}`);
  return { modelId, kind: known, name };
}

/** A checkpoint to train on from, to sample from or to copy. */
export function parseLoadablePath(path: string): CheckpointAddress {
  const address = parseCheckpointPath(path);
  if (address.kind !== 'external_weights') return address;
  throw new ProtocolError(
    400,
    `${path} was saved for other programs. Name a checkpoint of save_weights or save_weights_for_sampler.`,
  );
}

/** Whether a folder of this model folder, kind and name is where the address belongs. */
export function isAtHome(
  { modelId, kind, name }: CheckpointAddress,
  place: { readonly model: string; readonly kind: string; readonly name: string },
): boolean {
  return (
    MODEL_ID.test(modelId) && folderOf(modelId) === place.model && kind === place.kind && name === place.name
  );
}

/** Whether a model's name goes up a path or holds controls: adapters that are handed out name it to programs that take it for a path. */
export function leadsElsewhere(baseModel: string): boolean {
  return baseModel.split(/[/\\]/).includes('..') || /\p{Cc}/u.test(baseModel);
}

/** Model ids cannot hold an underscore, so two of them never share a folder. */
export function folderOf(modelId: string): string {
  return modelId.replaceAll(':', '_');
}

function badPath(path: string): ProtocolError {
  return new ProtocolError(
    400,
    `Invalid checkpoint path "${path.slice(0, 300)}". Expected tinker://<model id>/<${KINDS.join('|')}>/<name>.`,
  );
}
