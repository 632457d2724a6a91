import { gapsBeforeSubmits } from '../../../bench/engine-traffic';

const moments = (text: string) =>
  text.split(' ').map((one) => ({
    kind: one.startsWith('a') ? ('answered' as const) : ('submitted' as const),
    atMs: Number(one.slice(1)),
  }));

test.each([
  ['counts from the last result before a submit', 'a10 a14 s17 a30 s31', [3, 1]],
  ['leaves out submits that no result came before', 's1 s2 a10 s12', [2]],
  ['leaves out a second submit in a row', 'a10 s11 s12', [1]],
  ['has nothing to say where nothing is submitted', 'a10 a11', []],
])('%s', (_what, text, expected) => {
  expect(gapsBeforeSubmits(moments(text)).map(({ milliseconds }) => milliseconds)).toEqual(expected);
});
