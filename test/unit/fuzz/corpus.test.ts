import { corpusOf, corpusTargets } from '../../fuzz/corpus';
import { inputOf } from '../../fuzz/fuzz-target';
import { findFault, removeScratch } from '../../fuzz/target';
import { loadTarget, TARGET_NAMES } from '../../fuzz/targets';

afterAll(removeScratch);

test('every folder of the corpus is of a target', () => {
  expect(TARGET_NAMES).toEqual(expect.arrayContaining(corpusTargets()));
});

test.each(TARGET_NAMES)(
  '%s takes what it once stumbled over, what is well-formed, and first mutations of it',
  async (name) => {
    const target = await loadTarget(name);
    try {
      for (const { file, bytes } of corpusOf(name))
        expect({ file, fault: await findFault(target, bytes) }).toEqual({ file, fault: null });
      for (const seed of target.seeds()) expect(await findFault(target, Buffer.from(seed))).toBeNull();
      for (let index = 0; index < 20; index++)
        expect({ index, fault: await findFault(target, inputOf(target, 1, index)) }).toEqual({
          index,
          fault: null,
        });
    } finally {
      await target.close?.();
    }
  },
);

test('the same seed gives the same inputs, another one others', async () => {
  const target = await loadTarget('queries');
  const draw = (seed: number) =>
    Array.from({ length: 50 }, (_, index) => Buffer.from(inputOf(target, seed, index)).toString('base64'));

  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
  expect(new Set(draw(7)).size).toBeGreaterThan(40);
});
