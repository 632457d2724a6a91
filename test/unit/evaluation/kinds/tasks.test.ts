import { findKind, KINDS } from '../../../../src/evaluation/kinds';
import { evaluateKind } from '../../../../src/evaluation/kinds/evaluate-kind';
import { loadKindRows } from '../../../../src/evaluation/kinds/load-kind-rows';
import type { Row } from '../../../../src/evaluation/graders/row-grader';
import { toySite } from './toy-model';

const { signal } = new AbortController();

/** A row of each task with our own text, and replies that are right and wrong. */
const ROWS: readonly [string, Row, string, string][] = [
  [
    'winogrande',
    { sentence: 'The cup fits, the _ is small.', option1: 'cup', option2: 'box', answer: '1' },
    'A.',
    'B',
  ],
  [
    'winogrande',
    { sentence: 'The cup fits, the _ is large.', option1: 'cup', option2: 'box', answer: '2' },
    'b',
    'A',
  ],
  ['sst2', { sentence: 'a joy ', label: 1 }, 'Positive.', 'negative'],
  ['sst2', { sentence: 'a bore ', label: 0 }, 'negative', 'not negative'],
  [
    'squad',
    {
      context: 'Ann lives in Rome.',
      question: 'Where?',
      answers: { text: ['Rome', 'in Rome'], answer_start: [13] },
    },
    'In rome.',
    'Paris',
  ],
];

test.each(ROWS)('%s judges the reply to a row', async (name, row, right, wrong) => {
  const options = { rows: [row], reduce: 'mean', signal } as const;

  expect((await evaluateKind(toySite({ writes: () => right }), findKind(name), options)).value).toBe(1);
  expect((await evaluateKind(toySite({ writes: () => wrong }), findKind(name), options)).value).toBe(0);
  expect((await evaluateKind(toySite({ writes: () => '' }), findKind(name), options)).value).toBe(0);
});

test('blimp prefers the good sentence, and changes nothing between two looks at a row', async () => {
  const rows = [{ sentence_good: 'cats run', sentence_bad: 'cats runs' }];
  const site = toySite({ logprob: (before) => (before.endsWith('run') ? -20 : -1) });

  const first = await evaluateKind(site, findKind('blimp'), { rows, reduce: 'none', signal });
  const second = await evaluateKind(site, findKind('blimp'), { rows, reduce: 'none', signal });

  expect(first.perExample).toEqual([1]);
  expect(second).toEqual(first);
});

test('wikitext_ppl leaves out headings and blank lines', async () => {
  const rows = [{ text: '' }, { text: ' = A heading = \n' }, { text: ' Some words . \n' }];

  const { perExample } = await evaluateKind(toySite({}), findKind('wikitext-ppl'), {
    rows,
    reduce: 'none',
    signal,
  });

  expect(perExample).toHaveLength(1);
});

test('every task reads a fixed commit of its data', () => {
  for (const { data } of KINDS) {
    expect('hub' in data ? data.revision : '').toMatch(/^[0-9a-f]{40}$/);
  }
});

test('names what there is when it does not know a task', () => {
  expect(() => findKind('nope')).toThrow(/Known: winogrande, blimp, sst2, squad, wikitext_ppl/);
});

test('reads the rows of a task as those of a benchmark', async () => {
  const asked: string[] = [];
  const read = (name: string, { hub }: { readonly hub: string }) => {
    asked.push(`${name} ${hub}`);
    return Promise.resolve({ rows: [{ text: 'x' }], source: 'there' });
  };

  expect(await loadKindRows(findKind('squad'), read)).toEqual({ rows: [{ text: 'x' }], source: 'there' });
  expect(asked).toEqual(['squad rajpurkar/squad']);
});
