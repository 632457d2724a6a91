import { DomainError } from '../core/errors';
import type { SandboxChoice } from '../core/sandbox-choice';
import { BubblewrapKind } from './bubblewrap/bubblewrap-kind';
import { DockerKind } from './docker/docker-kind';
import type { Leases } from './leases/leases';
import { PyodideKind } from './pyodide/pyodide-kind';
import type { SandboxKind } from './sandbox';

export interface ChosenKind {
  readonly kind: SandboxKind;
  /** What was found, and why not one before it. */
  readonly why: string;
}

/** Best first: real processes that start at once, real processes, Python alone. */
export function sandboxKinds(leases: Leases): readonly SandboxKind[] {
  return [new BubblewrapKind(leases), new DockerKind(leases), new PyodideKind(leases)];
}

/** The first kind that works here, or the one that is asked for. */
export async function chooseKind(choice: SandboxChoice, kinds: readonly SandboxKind[]): Promise<ChosenKind> {
  const refused: string[] = [];
  for (const kind of kinds.filter(({ name }) => choice === 'auto' || name === choice)) {
    const answer = await kind.availability();
    if (answer.isAvailable) return { kind, why: [answer.found, ...refused].join('; ') };
    refused.push(`no ${kind.name}: ${answer.reason}`);
  }
  throw new DomainError(
    'bad-config',
    `EVERSTEP_SANDBOX=${choice}: ${refused.join('; ')}. Use EVERSTEP_SANDBOX=auto.`,
  );
}
