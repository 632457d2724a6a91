import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { Message } from '../../core/conversation';
import { neutralize } from './neutralize';
import type { VerdictForm } from './verdict-forms';
import { VERDICT_FORMS } from './verdict-forms';

/**
 * What a judge is asked, with named places for the texts of an example. Templates are files of `data/judges`; one that a
 * person writes in a config takes the place of the file's prompt.
 */
export interface JudgeTemplate {
  readonly name: string;
  readonly version: number;
  readonly system: string | null;
  readonly prompt: string;
  /** Markers that texts filled in must not contain as they are. */
  readonly delimiters: readonly string[];
  /** Patterns of verdicts that texts filled in must not contain either. */
  readonly verdicts: readonly string[];
}

const FORMS = ['grade', 'rating', 'score', 'pair', 'arena'] as const satisfies readonly VerdictForm[];
const TemplateFile = z.strictObject({
  name: z.string(),
  version: z.int(),
  system: z.string().nullable(),
  prompt: z.string(),
  delimiters: z.array(z.string()),
  verdicts: z.array(z.enum(FORMS)),
});

const FOLDER = path.join(__dirname, '../../../data/judges');
const loaded = new Map<string, JudgeTemplate>();

/** A template of ours, by name. */
export function loadTemplate(name: string): JudgeTemplate {
  const known = loaded.get(name);
  if (known) return known;
  const file = TemplateFile.parse(JSON.parse(readFileSync(path.join(FOLDER, `${name}.json`), 'utf8')));
  const template = { ...file, verdicts: file.verdicts.flatMap((form) => VERDICT_FORMS[form]) };
  loaded.set(name, template);
  return template;
}

/** Name, version and hash: what the identity of a score says of a template. */
export function stampOf(template: JudgeTemplate): string {
  const { name, version, ...content } = template;
  const hash = createHash('sha256')
    .update(JSON.stringify(Object.entries(content).sort()))
    .digest('hex');
  return `${name}@${version}#${hash.slice(0, 12)}`;
}

/** The request to a judge. Texts of examples are made harmless first; `fixed` ones are our own words. */
export function messagesOf(
  template: JudgeTemplate,
  texts: Readonly<Record<string, string>>,
  fixed: Readonly<Record<string, string>> = {},
): Message[] {
  const harmless = Object.entries(texts).map(([name, text]) => [name, neutralize(text, template)] as const);
  const values = new Map([...Object.entries(fixed), ...harmless]);
  const content = fill(template.prompt, values);
  const system: Message[] = template.system === null ? [] : [{ role: 'system', content: template.system }];
  return [...system, { role: 'user', content }];
}

/** In one pass, so that what is filled in is not filled in again; braces that name nothing stay. */
export function fill(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\{(\w+)\}/g, (place, name: string) => values.get(name) ?? place);
}
