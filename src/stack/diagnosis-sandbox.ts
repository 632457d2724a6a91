import type { SandboxChoice } from '../core/sandbox-choice';
import { DomainError } from '../core/errors';
import { chooseKind, sandboxKinds } from '../sandboxes/choose-kind';
import { Leases } from '../sandboxes/leases/leases';
import type { SandboxKind } from '../sandboxes/sandbox';
import type { Finding } from './finding';

const BETTER =
  'Install bubblewrap (apt-get install bubblewrap) for real processes; docs/security.md compares.';

/** Which sandbox code of models would run in here, and why not a better one. */
export async function diagnoseSandbox(
  choice: SandboxChoice,
  kinds: readonly SandboxKind[] = sandboxKinds(new Leases()),
): Promise<Finding[]> {
  const name = 'sandbox';
  try {
    const { kind, why } = await chooseKind(choice, kinds);
    const found = `${kind.name} (EVERSTEP_SANDBOX=${choice}): ${why}`;
    if (choice === 'auto' && kind.name === 'pyodide')
      return [{ name, status: 'note', found, remedy: BETTER }];
    return [{ name, status: 'ok', found }];
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return [{ name, status: 'missing', found: error.message, remedy: 'Use EVERSTEP_SANDBOX=auto.' }];
  }
}
