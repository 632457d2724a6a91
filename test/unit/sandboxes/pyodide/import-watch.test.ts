import { readFileSync } from 'node:fs';
import path from 'node:path';

const SOURCE = path.resolve(__dirname, '../../../../src/sandboxes/pyodide/host/import-watch.mjs');
const PYODIDE = path.dirname(require.resolve('pyodide/package.json'));
const source = readFileSync(SOURCE, 'utf8');

/**
 * A program is followed by another one in the same interpreter when all it asked of JavaScript is on the list. Whether a function leaves
 * something elsewhere was read in the source of one version, and can be told of no other.
 */
test('the list of functions that leave no traces was read for the Pyodide that is installed', () => {
  const readFor = /READ_FOR = '([^']+)'/.exec(source)?.[1];
  const { version } = JSON.parse(readFileSync(path.join(PYODIDE, 'package.json'), 'utf8')) as {
    version: string;
  };
  const reason = `Pyodide ${version} is installed, and the list in import-watch.mjs was read for ${readFor}: what a function of another version leaves behind would reach the next program. Read each of them again in pyodide.asm.mjs, the fields of FS and MEMFS included, then set READ_FOR.`;

  expect({ version, reason }).toEqual({ version: readFor, reason });
});

test('everything on the list is asked for by that Pyodide', () => {
  const listed = /new Set\(\s*`([^`]+)`/.exec(source)?.[1]?.split(/\s+/) ?? [];
  const asked = readFileSync(path.join(PYODIDE, 'pyodide.asm.wasm')).toString('latin1');

  expect(listed.length).toBeGreaterThan(0);
  // As a module names its imports: length, name.
  const isAsked = (name: string) => asked.includes(`${String.fromCharCode(name.length)}${name}\0`);
  expect(listed.filter((name) => !isAsked(name))).toEqual([]);
});
