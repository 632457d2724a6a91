import { execFile } from 'node:child_process';
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CODE_CACHE = path.resolve(__dirname, '../../../bin/code-cache.js');

/** What a start of the program found, and which of its files Node read itself. */
interface Start {
  readonly told: unknown;
  readonly read: readonly string[];
}

const PROGRAM = `
const fs = require('node:fs');
const path = require('node:path');
const { keepCode } = require(${JSON.stringify(CODE_CACHE)});
const [, , root, folder] = process.argv;
const read = [];
const readFileSync = fs.readFileSync;
fs.readFileSync = (file, ...rest) => {
  if (String(file).startsWith(root) && String(file).endsWith('.js')) read.push(path.relative(root, file));
  return readFileSync(file, ...rest);
};
keepCode({ root, command: 'tell', folder: folder || null });
require(path.join(root, 'main.js')).tell().then((told) => {
  process.stdout.write(JSON.stringify({ told, read }));
});
`;

const FILES: Readonly<Record<string, string>> = {
  'main.js': `'use strict';
const { double } = require('./library/double');
const { name } = require('words');
exports.isEarly = true;
const { sees } = require('./library/circle');
exports.tell = async () => ({
  four: double(2), name, sees,
  here: [__filename, __dirname, require.resolve('./library/double'), module.id, module.children.length],
  place: require('./library/place').place(),
  asked: require('./library/asking').asked,
  missing: require('./library/missing').code(),
  later: await require('./library/importing').later(),
  umlaut: require('./library/umlaut'),
});
`,
  'library/double.js': 'exports.double = (value) => value * 2;\n',
  'library/circle.js': "exports.sees = require('../main').isEarly;\n",
  'library/place.js':
    "'use strict';\n\nexports.place = () => {\n  const { stack } = new Error('here');\n  return /place\\.js:4:\\d+/.exec(stack)?.[0];\n};\n",
  'library/missing.js':
    "exports.code = () => {\n  try {\n    return require('./nowhere');\n  } catch (error) {\n    return error.code;\n  }\n};\n",
  'library/importing.js': "exports.later = async () => (await import('./later.mjs')).later;\n",
  'library/asking.js': "exports.asked = require('words').name;\n",
  'library/later.mjs': "export const later = 'later';\n",
  'library/umlaut.js': "module.exports = 'ä → ✓';\n",
  'node_modules/words/index.js': "exports.name = 'words';\n",
  'node_modules/words/package.json': '{"name":"words","version":"1.0.0"}',
  // What says where the packages are.
  'node_modules/zod/package.json': '{"name":"zod","version":"1.0.0"}',
  'node_modules/.package-lock.json': '{}',
};

const IMPORTING = ['library/importing.js'];

const hasOwnCache = 'enableCompileCache' in nodeModule;
const describeCache = hasOwnCache ? describe.skip : describe;

describeCache('the code cache', () => {
  let place = '';
  let root = '';
  let folder = '';

  beforeEach(() => {
    place = mkdtempSync(path.join(tmpdir(), 'everstep-code-'));
    root = path.join(place, 'root');
    folder = path.join(place, 'cache');
    for (const [name, text] of Object.entries(FILES)) write(name, text);
    writeFileSync(path.join(place, 'start.js'), PROGRAM);
  });

  afterEach(() => {
    rmSync(place, { recursive: true, force: true });
  });

  function write(name: string, text: string): void {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  async function start(cacheFolder = folder): Promise<Start> {
    const { stdout, stderr } = await run(process.execPath, [path.join(place, 'start.js'), root, cacheFolder]);
    expect(stderr).toBe('');
    return JSON.parse(stdout) as Start;
  }

  async function learn(startCount = 1): Promise<Start> {
    const first = await start('');
    for (let count = 0; count < startCount; count++) await start();
    return first;
  }

  function cacheFile(): string {
    const [name = ''] = readdirSync(folder);
    return path.join(folder, name);
  }

  test('gives modules what Node gives them, without reading their files again', async () => {
    const plain = await start('');
    const first = await start();
    const second = await start();

    expect(plain.told).toMatchObject({ four: 4, name: 'words', sees: true, missing: 'MODULE_NOT_FOUND' });
    expect(plain.told).toMatchObject({
      later: 'later',
      umlaut: 'ä → ✓',
      place: 'place.js:4:21',
    });
    expect(plain.read).toContain('main.js');
    expect(first.told).toEqual(plain.told);
    // Node alone can say what `import()` means.
    expect(second).toEqual({ told: plain.told, read: IMPORTING });
  });

  test('takes a file that was changed as it is now, were it as long as before', async () => {
    await learn();
    write('library/double.js', 'exports.double = (value) => value * 3;\n');

    expect(await start()).toMatchObject({ told: { four: 6 } });
    expect(await start()).toMatchObject({ told: { four: 6 }, read: IMPORTING });
  });

  test('finds packages anew once something was installed', async () => {
    await learn();
    write('library/node_modules/words/index.js', "exports.name = 'nearer words';\n");
    write('node_modules/.package-lock.json', '{"packages":{}}');

    expect(await start()).toMatchObject({ told: { name: 'words', asked: 'nearer words' } });
    expect(await start()).toMatchObject({ told: { asked: 'nearer words' }, read: IMPORTING });
  });

  test.each([
    ['cut short', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['empty', () => Buffer.alloc(0)],
    ['damaged', (bytes: Buffer) => Buffer.from(bytes).fill(7, bytes.length - 4000)],
    ['no cache at all', () => Buffer.from('nothing of ours')],
  ])('is made anew where its file is %s', async (_, damage) => {
    const plain = await learn();
    writeFileSync(cacheFile(), damage(readFileSync(cacheFile())));

    expect((await start()).told).toEqual(plain.told);
    expect(await start()).toEqual({ told: plain.told, read: IMPORTING });
  });

  test('leaves a file of somebody else alone', async () => {
    if (process.getuid?.() !== 0) return;
    const plain = await learn();
    chownSync(cacheFile(), 12345, 12345);

    expect(await start()).toEqual(plain);
  });

  test('loads as ever where nothing can be kept', async () => {
    const plain = await start('');
    writeFileSync(path.join(place, 'file'), '');

    expect(await start(path.join(place, 'file', 'folder'))).toEqual(plain);
  });

  test('is one whole file after several starts at a time', async () => {
    const plain = await start('');
    const all = await Promise.all(Array.from({ length: 6 }, () => start()));

    for (const { told } of all) expect(told).toEqual(plain.told);
    expect(readdirSync(folder)).toHaveLength(1);
    expect((await start()).read).toEqual(IMPORTING);
  });

  test('is written again only while there is something to learn', async () => {
    await learn(3);
    const before = statSync(cacheFile()).mtimeMs;

    await start();

    expect(statSync(cacheFile()).mtimeMs).toBe(before);
  });

  test('removes the oldest files of builds that are gone', async () => {
    mkdirSync(folder);
    for (let age = 1; age <= 20; age++) {
      const file = path.join(folder, `gone-${age}.bin`);
      writeFileSync(file, '');
      utimesSync(file, 1_000_000 - age, 1_000_000 - age);
    }

    await start();

    const names = readdirSync(folder);
    expect(names).toHaveLength(16);
    expect(names).toContain('gone-1.bin');
    expect(names).not.toContain('gone-20.bin');
  });
});
