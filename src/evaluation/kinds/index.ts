import { DomainError } from '../../core/errors';
import type { OfOptions } from '../of-options';
import type { Kind } from './kind';
import { blimp } from './tasks/blimp';
import { squad } from './tasks/squad';
import { sst2 } from './tasks/sst2';
import { wikitextPerplexity } from './tasks/wikitext-perplexity';
import { winogrande } from './tasks/winogrande';

export const KINDS: readonly Kind[] = [winogrande, blimp, sst2, squad, wikitextPerplexity];

/** Makes a task from the `options` of the config. */
export type KindBuilder = OfOptions<Kind>;

/** The tasks that a plug-in file brings. */
export interface PluginKinds {
  readonly kinds: ReadonlyMap<string, KindBuilder>;
}

/** Names are written with underscores; hyphens are accepted. */
export function findKind(
  name: string,
  plugins?: PluginKinds,
  options: Readonly<Record<string, unknown>> = {},
): Kind {
  const kind = lookUpKind(name, plugins, options);
  if (kind) return kind;
  const names = [...KINDS.map((known) => known.name), ...(plugins?.kinds.keys() ?? [])];
  throw new DomainError('unknown-benchmark', `Unknown task "${name}". Known: ${names.join(', ')}.`);
}

/** null where no task has the name. */
export function lookUpKind(
  name: string,
  plugins?: PluginKinds,
  options: Readonly<Record<string, unknown>> = {},
): Kind | null {
  const plain = name.replaceAll('-', '_');
  const known = KINDS.find((each) => each.name === plain);
  return known ?? plugins?.kinds.get(plain)?.(options) ?? null;
}
