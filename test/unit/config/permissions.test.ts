import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Allowances } from '../../../src/config/allowances';
import { createPermissions } from '../../../src/config/permissions';
import type { PermissionOptions, Permissions } from '../../../src/config/permissions';

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'everstep-permissions-')));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function fileAt(place: string): string {
  const file = join(root, place);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'export default {};');
  return file;
}

/** Of a worker that was started in `<root>/project`. */
function permissions(more: Partial<PermissionOptions> = {}): Permissions {
  const project = join(root, 'project');
  const dataFolder = join(project, '.everstep');
  return createPermissions({
    ...{
      dataFolder,
      store: join(dataFolder, 'store'),
      pluginFolders: [],
      keyAddresses: [],
      startedIn: project,
    },
    ...more,
  });
}

function requireIn(place: string, more: Partial<PermissionOptions> = {}): () => void {
  const file = fileAt(place);
  return () => {
    permissions(more).requireCode(file, 'plugins');
  };
}

const REFUSED = expect.objectContaining({ code: 'refused' }) as Error;

test('a plug-in file in the folder of the worker is run, and one elsewhere is refused', () => {
  expect(requireIn('project/deep/plugins.ts')).not.toThrow();
  expect(requireIn('project-2/plugins.ts')).toThrow(REFUSED);
  expect(requireIn('elsewhere/plugins.ts')).toThrow(
    /^plugins: this worker was not told that it may run .*elsewhere\/plugins\.ts\. .*EVERSTEP_PLUGIN_FOLDERS/,
  );
});

test('what runs write is no code, although it lies in the folder of the worker', () => {
  expect(requireIn('project/.everstep/store/runs/mine/config.json')).toThrow(REFUSED);
  expect(requireIn('project/.everstep/cache/x.js')).toThrow(REFUSED);
});

test.each(['project/.everstep', 'project/.everstep/store', 'project/.everstep/store/runs/theirs'])(
  'a worker that was started in %s runs nothing from there',
  (place) => {
    fileAt(`${place}/x.js`);

    expect(requireIn(`${place}/code.js`, { startedIn: join(root, place) })).toThrow(REFUSED);
  },
);

test('a path that leads each process elsewhere is no code', () => {
  const startedIn = process.cwd();

  expect(() => {
    permissions({ startedIn }).requireCode(join(startedIn, 'package.json'), 'plugins');
  }).not.toThrow();
  expect(() => {
    permissions({ startedIn }).requireCode('/proc/self/cwd/package.json', 'plugins');
  }).toThrow(REFUSED);
});

test('a webhook has the values of its headers where the worker was told of its address, and no key by that', () => {
  const keyAddresses = ['https://hooks.example/a'];
  const named = 'http://127.0.0.1:9000/hook';
  const dataFolder = join(root, 'project', '.everstep');
  new Allowances(dataFolder).allow({ use: 'webhook', of: 'http://127.0.0.1:9000' });

  const { mayTell, keyFor } = permissions({ keyAddresses });

  expect([mayTell('https://hooks.example/b'), mayTell(named)]).toEqual([true, true]);
  expect([mayTell('https://hooks.example:444/a'), mayTell('https://api.openai.com/')]).toEqual([
    false,
    false,
  ]);
  expect(keyFor(named, 'key')).toBeUndefined();
});

test('a folder that the worker was told of is one of code, also beneath its data', () => {
  const pluginFolders = [join(root, 'project/.everstep/plugins')];

  expect(requireIn('project/.everstep/plugins/mine.ts', { pluginFolders })).not.toThrow();
});

test('a link in the folder of the worker leads to nothing outside', () => {
  const outside = fileAt('elsewhere/plugins.ts');
  mkdirSync(join(root, 'project'));
  symlinkSync(outside, join(root, 'project', 'plugins.ts'));

  expect(() => {
    permissions().requireCode(join(root, 'project', 'plugins.ts'), 'plugins');
  }).toThrow(REFUSED);
});

test("the worker's own plug-in file may lie anywhere", () => {
  const plugins = fileAt('elsewhere/own.ts');

  expect(requireIn('elsewhere/own.ts', { plugins })).not.toThrow();
  expect(requireIn('elsewhere/other.ts', { plugins })).toThrow(REFUSED);
});

test('keys go to the services that the worker was told of, and to those they are made for', () => {
  const keys = permissions({
    engineUrl: 'https://engine.example/a',
    keyAddresses: ['https://more.example'],
  });
  const gets = (address: string) => keys.keyFor(address, 'secret') === 'secret';

  expect(gets('https://engine.example/b')).toBe(true);
  expect(gets('https://more.example:443/v1')).toBe(true);
  expect(gets('https://api.openai.com/v1')).toBe(true);
  expect(gets('https://tinker.thinkingmachines.dev/services/tinker-prod')).toBe(true);
  for (const address of [
    'http://engine.example/a',
    'https://engine.example:8443',
    'https://engine.example.evil.example',
    'https://engine.example@evil.example',
    'http://127.0.0.1:1',
    'no address',
  ]) {
    expect([address, gets(address)]).toEqual([address, false]);
  }
});
