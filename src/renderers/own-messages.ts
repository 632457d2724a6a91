import type { Message } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { MessageFormat } from './message-format';
import { TOOL_DECLARATION_ROLE } from './template-text';

/** Roles that mean something to some models, and what they would say to others under a header nobody taught them. */
const SPECIAL_ROLES = new Map([
  [TOOL_DECLARATION_ROLE, 'Declare the tools under "tools".'],
  ['ipython', 'The answers of tools are of role tool.'],
]);

/** Refuses roles that a format does not know, and reasoning of whoever is no model. */
export function requireOwnMessages(
  messages: readonly Message[],
  format: Pick<MessageFormat, 'name' | 'ownRoles'>,
): void {
  messages.forEach((message, index) => {
    requireRole(message, index, format);
    requireNoReasoning(message, index);
  });
}

function requireRole(
  { role }: Message,
  index: number,
  { name, ownRoles }: Pick<MessageFormat, 'name' | 'ownRoles'>,
): void {
  const remedy = SPECIAL_ROLES.get(role);
  if (remedy === undefined || ownRoles?.includes(role)) return;
  throw new DomainError(
    'bad-dataset',
    `messages[${index}]: renderer "${name}" has no role "${role}". ${remedy}`,
  );
}

/** Templates write the reasoning of replies only. What a format has no reasoning for at all it refuses itself. */
function requireNoReasoning({ role, content }: Message, index: number): void {
  const reasons = typeof content !== 'string' && content.some(({ type }) => type === 'thinking');
  if (role === 'assistant' || !reasons) return;
  throw new DomainError(
    'bad-dataset',
    `messages[${index}] is of role "${role.slice(0, 80)}" and reasons, which only replies do. Remove the reasoning from the message.`,
  );
}
