import { segmentSeconds } from '../../../../src/core/schedules/segment-length';

test('a segment lasts four seconds, and three steps where they are slow, up to twelve seconds', () => {
  expect(segmentSeconds(null)).toBe(4);
  expect(segmentSeconds(20)).toBe(4);
  expect(segmentSeconds(0.5)).toBe(6);
  expect(segmentSeconds(0.2)).toBe(12);
  expect(segmentSeconds(0.01)).toBe(12);
});
