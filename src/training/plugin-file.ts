import type { PluginRegistry } from '../evaluation/plugins';
import { loadPlugins, NO_PLUGINS } from '../evaluation/plugins';
import { processSandboxes } from '../sandboxes/process-sandboxes';

/** What the plug-in file of a run or worker brings; nothing where there is none. */
export async function pluginsOf(file: string | undefined): Promise<PluginRegistry> {
  if (file === undefined) return NO_PLUGINS;
  const plugins = await loadPlugins(file);
  if (plugins.sandboxFactory) processSandboxes.bring({ factory: plugins.sandboxFactory, file });
  return plugins;
}
