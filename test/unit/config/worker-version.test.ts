import { readEnvironment } from '../../../src/config/environment';
import { readWorkerVersion } from '../../../src/config/worker-version';

test('a worker that is told nothing has no version', () => {
  expect(readWorkerVersion({ deployment: null, buildId: null })).toBeNull();
});

test('reads both names', () => {
  expect(readWorkerVersion({ deployment: 'everstep', buildId: '0.2.0+4f1c' })).toEqual({
    deploymentName: 'everstep',
    buildId: '0.2.0+4f1c',
  });
});

test.each([
  [
    { deployment: 'everstep', buildId: null },
    /without --build-id \(EVERSTEP_BUILD_ID\)\. Give both, or neither/,
  ],
  [
    { deployment: null, buildId: '2' },
    /without --deployment \(EVERSTEP_DEPLOYMENT\)\. Give both, or neither/,
  ],
])('refuses half a version: %j', (request, message) => {
  expect(() => readWorkerVersion(request)).toThrow(message);
});

// The server joins the two with "." or ":"; a command that is to be pasted must need no quotes.
test.each(['ever.step', 'ever:step', 'ever step', '-everstep', '__unversioned__', 'x'.repeat(101), "it's"])(
  'refuses the deployment name %s',
  (deployment) => {
    expect(() => readWorkerVersion({ deployment, buildId: '1' })).toThrow(
      /--deployment is ".*Use up to 100 of/,
    );
  },
);

test.each(['a b', '$(reboot)', ':1', 'ü', 'x'.repeat(101)])('refuses the build id %s', (buildId) => {
  expect(() => readWorkerVersion({ deployment: 'everstep', buildId })).toThrow(
    /--build-id is ".*Use up to 100 of/,
  );
});

test('comes from the environment where the command line says nothing', () => {
  expect(readEnvironment({}, { EVERSTEP_DEPLOYMENT: 'a', EVERSTEP_BUILD_ID: '7' })).toMatchObject({
    deployment: 'a',
    buildId: '7',
  });
  expect(readEnvironment({}, { EVERSTEP_DEPLOYMENT: '' })).toMatchObject({ deployment: null, buildId: null });
});
