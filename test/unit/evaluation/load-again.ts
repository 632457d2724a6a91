/**
 * Loads a plug-in file, changes it, and loads it again, in a process of Node's own: jest has no ES modules.
 *
 *     jiti load-again.ts FOLDER ENTRY '[{"name": "text", …}, …]'
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { importPluginFile } from '../../../src/evaluation/plugin-import';

const [folder = '', entry = '', versions = '[]'] = process.argv.slice(2);

async function main(): Promise<void> {
  const seen: unknown[] = [];
  for (const files of JSON.parse(versions) as Record<string, string>[]) {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), text);
    }
    seen.push(await importPluginFile(path.join(folder, entry)));
  }
  process.stdout.write(JSON.stringify(seen));
}

void main();
