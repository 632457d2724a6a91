import type { PluginRegistry } from '../evaluation/plugins';
import { loadPlugins, NO_PLUGINS } from '../evaluation/plugins';

/** What the plug-in file of a run or worker brings; nothing where there is none. */
export async function pluginsOf(file: string | undefined): Promise<PluginRegistry> {
  return file === undefined ? NO_PLUGINS : loadPlugins(file);
}
