import { placeOfReference } from '../../../src/client/references';

const isReference = (text: string) => text === 'mine@4';

/** As somebody else's file may be. */
function nested(depth: number): unknown {
  return JSON.parse('[{"a":'.repeat(depth) + '"mine@4"' + '}]'.repeat(depth));
}

test('names the place of a reference', () => {
  const config = { model: 'm', schedules: [{ evaluators: [] }, { from: 'mine@4' }] };

  expect(placeOfReference(config, isReference)).toBe('schedules.1.from');
  expect(placeOfReference({ checkpoint: nested(40) }, isReference)).toMatch(/^checkpoint\.0\.a\..*\.a$/);
});

test('passes over what is deeper than any file of ours', () => {
  const config = { checkpoint_name: nested(100_000), initialCheckpoint: 'mine@4' };

  expect(placeOfReference(config, isReference)).toBe('initialCheckpoint');
});
