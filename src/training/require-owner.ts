import { DomainError } from '../core/errors';
import type { RunStore } from '../stores/run-store';

/** Throws `superseded` for a workflow that another one has taken the run over from: nothing of it is its own to write. */
export async function requireOwner(
  store: Pick<RunStore, 'readOwner'>,
  run: string,
  epoch: number,
): Promise<void> {
  if (!(await isTakenOver(store, run, epoch))) return;
  throw new DomainError(
    'superseded',
    `Run "${run}" was taken over by another workflow, which \`everstep recover\` or \`train --continue\` began, as a rule on another Temporal server: the run goes on there, and no more here. Follow it with that server's --data-dir or TEMPORAL_ADDRESS.`,
  );
}

/** Whether the workflow whose write has this number is no more the one that the run belongs to. */
export async function isTakenOver(
  store: Pick<RunStore, 'readOwner'>,
  run: string,
  epoch: number,
): Promise<boolean> {
  const owner = await store.readOwner(run);
  return epoch < (owner?.firstEpoch ?? 0);
}
