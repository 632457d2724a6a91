import type { PluginRegistry } from '../evaluation/plugins';
import { loadPlugins, NO_PLUGINS } from '../evaluation/plugins';
import { processSandboxes } from '../sandboxes/process-sandboxes';

/** What the plug-in file that a run names brings, else that of the worker; nothing where there is none. */
export type LoadPlugins = (file: string | undefined) => Promise<PluginRegistry>;

export interface PluginFileOptions {
  /** The worker's own file. */
  readonly fallback?: string | undefined;
  /** Refuses files that this process may not run. Without it, whoever calls has named the file themselves. */
  readonly requireCode?: (file: string, what: string) => void;
}

export function createPluginLoader({ fallback, requireCode }: PluginFileOptions = {}): LoadPlugins {
  return async (named) => {
    const file = named ?? fallback;
    if (file === undefined) return NO_PLUGINS;
    requireCode?.(file, 'plugins');
    const plugins = await loadPlugins(file);
    if (plugins.sandboxFactory) processSandboxes.bring({ factory: plugins.sandboxFactory, file });
    return plugins;
  };
}
