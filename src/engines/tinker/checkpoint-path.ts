import { DomainError } from '../../core/errors';
import type { ServerProfile } from './profile';

/** `tinker://<run>/<kind>/<name>`, or `tinker://<run>/<name>` where the server leaves the kind out. */
export interface CheckpointPath {
  readonly runId: string;
  readonly kind: string | null;
  readonly name: string;
}

export function parseCheckpointPath(path: string): CheckpointPath {
  const parts = path.startsWith('tinker://') ? path.slice('tinker://'.length).split('/') : [];
  const [runId = '', second = '', third] = parts;
  const isWhole =
    (parts.length === 2 || parts.length === 3) && parts.every((part) => !['', '.', '..'].includes(part));
  if (!isWhole) {
    throw new DomainError(
      'bad-config',
      `"${path}" is not a checkpoint address. It looks like tinker://RUN/weights/NAME or tinker://RUN/sampler_weights/NAME.`,
    );
  }
  return third === undefined ? { runId, kind: null, name: second } : { runId, kind: second, name: third };
}

/** Under which name a snapshot's state is saved beside it, where the service needs that to sample it. */
export function stateNameOf(snapshot: string): string {
  return `${snapshot}-state`;
}

/** Of a snapshot, the state beside it; a state stands for itself. */
export function statePathOf(path: string): string {
  const { runId, kind, name } = parseCheckpointPath(path);
  return kind === 'weights' ? path : `tinker://${runId}/weights/${stateNameOf(name)}`;
}

/** The route of a checkpoint. Servers with short paths name checkpoints without their kind here too. */
export function checkpointRoute(path: string, { samplerPathForm }: ServerProfile): string {
  const { runId, kind, name } = parseCheckpointPath(path);
  const parts = kind === null || samplerPathForm === 'short' ? [name] : [kind, name];
  return `training_runs/${routePart(runId)}/checkpoints/${parts.map(routePart).join('/')}`;
}

/**
 * The route that deletes a checkpoint, which has the kind in it everywhere: where paths are short, those of sampler
 * weights are the ones without.
 */
export function deletionRoute(path: string): string {
  const { runId, kind, name } = parseCheckpointPath(path);
  const parts = [kind ?? 'sampler_weights', name];
  return `training_runs/${routePart(runId)}/checkpoints/${parts.map(routePart).join('/')}`;
}

/** Model ids hold colons, which the field writes as they are. */
export function routePart(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':');
}
