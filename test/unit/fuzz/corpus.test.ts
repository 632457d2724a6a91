import { corpusOf, corpusTargets } from '../../fuzz/corpus';
import { inputOf } from '../../fuzz/fuzz-target';
import { findFault } from '../../fuzz/target';
import { TARGETS } from '../../fuzz/targets';

afterAll(async () => {
  for (const target of TARGETS) await target.close?.();
});

test('every folder of the corpus is of a target', () => {
  expect(TARGETS.map(({ name }) => name)).toEqual(expect.arrayContaining(corpusTargets()));
});

const KEPT = TARGETS.flatMap((target) =>
  corpusOf(target.name).map(({ file, bytes }) => ({ name: `${target.name}/${file}`, target, bytes })),
);

test.each(KEPT)('$name is taken as it should be', async ({ target, bytes }) => {
  expect(await findFault(target, bytes)).toBeNull();
});

test.each(TARGETS)('$name takes what is well-formed, and its first mutations', async (target) => {
  for (const seed of target.seeds()) expect(await findFault(target, Buffer.from(seed))).toBeNull();
  for (let index = 0; index < 20; index++) expect(await findFault(target, inputOf(target, 1, index))).toBeNull();
});

test('the same seed gives the same inputs, another one others', () => {
  const [first] = TARGETS;
  if (!first) throw new Error('there are targets');
  const draw = (seed: number) =>
    Array.from({ length: 50 }, (_, index) => Buffer.from(inputOf(first, seed, index)).toString('base64'));

  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
  expect(new Set(draw(7)).size).toBeGreaterThan(40);
});
