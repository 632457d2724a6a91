import { versioningOptions } from '../../../src/workers/versioning-options';

test('a worker without a version takes work of any', () => {
  expect(versioningOptions(undefined)).toEqual({});
});

test('the workflows of a versioned worker move on to the current version', () => {
  const version = { deploymentName: 'everstep', buildId: '2' };

  expect(versioningOptions(version)).toEqual({
    workerDeploymentOptions: {
      version,
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  });
});
