import { howCalled, isStartedByNpx } from '../../../src/config/how-called';

const NPX = { npm_lifecycle_event: 'npx', npm_lifecycle_script: "'everstep'", PATH: '/own/bin:/usr/bin' };

test.each([
  ['a clone', '/home/me/clone/bin/everstep.js', '/home/me/clone', 'bin/everstep.js'],
  ['the folder of the file', '/home/me/clone/bin/everstep.js', '/home/me/clone/bin', './everstep.js'],
  ['elsewhere', '/home/me/clone/bin/everstep.js', '/home/me/other', '/home/me/clone/bin/everstep.js'],
  ['a path with a space', '/home/me/my clone/bin/everstep.js', '/tmp', "'/home/me/my clone/bin/everstep.js'"],
  ['where it is installed', '/w/node_modules/.bin/everstep', '/w', 'node_modules/.bin/everstep'],
  ['a folder of the search path', '/own/bin/everstep', '/w', 'everstep'],
  ['within another program', '/w/node_modules/jest/bin/jest.js', '/w', 'npx everstep'],
])('names itself as it was called: %s', (_, program, folder, expected) => {
  expect(howCalled({ program, folder, variables: { PATH: NPX.PATH } })).toBe(expected);
});

test.each([
  ["'everstep'", true],
  ['"everstep"', true],
  ['everstep', true],
  ['mine', false],
  ['everstep serve & sleep 1', false],
])('is called by npx where npx runs %s: %p', (script, expected) => {
  const variables = { ...NPX, npm_lifecycle_script: script };

  expect(isStartedByNpx(variables)).toBe(expected);
  expect(howCalled({ program: '/own/bin/everstep', folder: '/w', variables })).toBe(
    expected ? 'npx everstep' : 'everstep',
  );
});

test('is not called by npx in a script of npm', () => {
  expect(isStartedByNpx({ ...NPX, npm_lifecycle_event: 'demo' })).toBe(false);
});
