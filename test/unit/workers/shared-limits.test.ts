import { sharedLimitsFolder } from '../../../src/workers/shared-limits';

test('workers of a store share the limits of endpoints in it, whatever their own folders are', () => {
  const [one, other] = ['/a', '/b'].map((dataFolder) => sharedLimitsFolder({ store: '/store', dataFolder }));

  expect(one).toBe('/store/endpoints');
  expect(other).toBe(one);
  expect(sharedLimitsFolder({ store: 's3://bucket/runs', dataFolder: '/a' })).toBe('/a/endpoints');
});
