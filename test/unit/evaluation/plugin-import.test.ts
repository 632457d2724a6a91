import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { loadPlugins } from '../../../src/evaluation/plugins';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-plugins-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

type Files = Record<string, string>;

async function seenBy(entry: string, versions: readonly Files[]): Promise<unknown> {
  const jiti = path.join(path.dirname(require.resolve('jiti/package.json')), 'lib', 'jiti-cli.mjs');
  const script = path.join(__dirname, 'load-again.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...[jiti, script, folder, entry],
    JSON.stringify(versions),
  ]);
  return JSON.parse(stdout);
}

test.each<[string, string, (version: number) => Files]>([
  ['an ES module', 'a.mjs', (v) => ({ 'a.mjs': `export default { v: ${v} };` })],
  [
    'an ES module by its package, that imports another',
    'esm/a.js',
    (v) => ({
      'esm/package.json': '{"type":"module"}',
      'esm/a.js': `import { v } from './b.js'; export default { v };`,
      'esm/b.js': `export const v = ${v};`,
    }),
  ],
  [
    'TypeScript that imports an ES module',
    'h.ts',
    (v) => ({
      'h.ts': `import { v } from './h2.mjs'; export default { v: v as number };`,
      'h2.mjs': `export const v = await Promise.resolve(${v});`,
    }),
  ],
  [
    'CommonJS that requires CommonJS and JSON',
    'c.cjs',
    (v) => ({
      'c.cjs': `const { v } = require('./c2.cjs'); module.exports = { v };`,
      'c2.cjs': `exports.v = require('./c3.json').v;`,
      'c3.json': `{ "v": ${v} }`,
    }),
  ],
  [
    'an ES module that imports when it runs',
    'd.mjs',
    (v) => ({
      'd.mjs': `const { v } = await import('./d2.mjs'); export default { v };`,
      'd2.mjs': `import json from './d3.json' with { type: 'json' }; export const v = json.v;`,
      'd3.json': `{ "v": ${v} }`,
    }),
  ],
])('%s is loaded as it is now, in a process that has loaded it before', async (_what, entry, files) => {
  expect(await seenBy(entry, [files(1), files(2), files(3)])).toEqual([{ v: 1 }, { v: 2 }, { v: 3 }]);
});

test('packages are those that Node finds', async () => {
  const file = `import { z } from 'zod'; import path from 'node:path';
    export default { zod: typeof z.object, node: path.sep };`;

  expect(await seenBy('p.mjs', [{ 'p.mjs': file }])).toEqual([{ zod: 'function', node: path.sep }]);
});

test.each(['notes.txt', 'code.wasm'])('%s is refused as no code', async (name) => {
  const file = path.join(folder, name);
  await writeFile(file, 'export default {};');

  await expect(loadPlugins(file)).rejects.toThrow(/By its name it is no TypeScript or JavaScript/);
});
