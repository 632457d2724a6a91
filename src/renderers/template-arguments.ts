import type { TemplateArguments } from '../core/conversation';
import { DomainError } from '../core/errors';

/** What a template is handed of the conversation itself. */
const OF_THE_CONVERSATION = [
  'messages',
  'tools',
  'add_generation_prompt',
  'continue_final_message',
  'bos_token',
  'eos_token',
];

/** Refuses arguments for a renderer that has no template, and names that are not a person's to give. */
export function checkTemplateArguments(renderer: string, given: TemplateArguments = {}): void {
  const names = Object.keys(given);
  if (names.length > 0 && renderer !== 'chat_template') {
    throw new DomainError(
      'bad-config',
      `templateArguments: renderer "${renderer}" has no template to give ${names.join(', ')} to. Set renderer: chat_template, or leave templateArguments out.`,
    );
  }
  const taken = names.filter((name) => OF_THE_CONVERSATION.includes(name));
  if (taken.length === 0) return;
  throw new DomainError(
    'bad-config',
    `templateArguments: ${taken.join(', ')} is given by the conversation. Leave it out.`,
  );
}

/** An argument that a template never reads would change nothing, unseen. */
export function requireRead(source: string, template: string, given: TemplateArguments): void {
  const unread = Object.keys(given).filter((name) => !wordsOf(template).has(name));
  if (unread.length === 0) return;
  throw new DomainError(
    'bad-config',
    `templateArguments: the chat template of "${source}" does not read ${unread.join(', ')}. Correct the name, or leave it out.`,
  );
}

function wordsOf(template: string): ReadonlySet<string> {
  return new Set(template.match(/\w+/g));
}

interface Format {
  readonly name: string;
  readonly templateArguments?: TemplateArguments | undefined;
}

/** How conversations become tokens, in words: equal words, equal tokens. */
export function promptFormatOf({ name, templateArguments = {} }: Format): string {
  const entries = Object.entries(templateArguments).sort(([one], [other]) => (one < other ? -1 : 1));
  return entries.length === 0 ? name : `${name} ${JSON.stringify(Object.fromEntries(entries))}`;
}
