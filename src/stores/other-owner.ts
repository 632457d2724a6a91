import { DomainError } from '../core/errors';
import { shellWord } from '../core/shell-word';

interface Owner {
  readonly workflowId: string;
}

interface Claim {
  readonly run: string;
  readonly owner: Owner;
  /** null where it cannot be read. */
  readonly present: Owner | null;
}

/** Why a workflow gets no run, and what helps. */
export function otherOwner(subject: string, { run, owner, present }: Claim): DomainError {
  const isEarlier = present?.workflowId === owner.workflowId;
  const what = isEarlier
    ? `an earlier workflow ${owner.workflowId}. Go on with it: everstep train --run ${shellWord(run)} --continue`
    : `another workflow (${present?.workflowId ?? 'owner.json is unreadable'}). Start under another name, or use another store.`;
  return new DomainError('store-conflict', `${subject} belongs to ${what}`);
}
