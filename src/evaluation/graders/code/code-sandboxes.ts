import type { SandboxChoice } from '../../../core/sandbox-choice';
import { processSandboxes } from '../../../sandboxes/process-sandboxes';

/** Where graders of this process run code from now on. */
export function runCodeIn(choice: SandboxChoice): void {
  processSandboxes.choose(choice);
}
