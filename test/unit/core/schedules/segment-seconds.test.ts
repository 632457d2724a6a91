import { segmentSeconds } from '../../../../src/core/schedules/segment-length';

test('a segment lasts four seconds, and four steps where they are slow, up to twenty seconds', () => {
  expect(segmentSeconds(null)).toBe(4);
  expect(segmentSeconds(20)).toBe(4);
  expect(segmentSeconds(0.5)).toBe(8);
  expect(segmentSeconds(0.2)).toBe(20);
  expect(segmentSeconds(0.01)).toBe(20);
});
