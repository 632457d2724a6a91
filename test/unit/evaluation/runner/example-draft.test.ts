import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shuffledIndices } from '../../../../src/core/random';
import { streamRows } from '../../../../src/datasets/read-rows';
import type { Example } from '../../../../src/evaluation/example';
import { ExampleDraft } from '../../../../src/evaluation/runner/example-draft';
import { FrozenExamples } from '../../../../src/evaluation/runner/frozen-examples';
import { dataHashOf } from '../../../../src/evaluation/runner/identity';
import { examplesOf, newFolder } from './fake-model';

async function* oneByOne(examples: readonly Example[]): AsyncGenerator<Example> {
  for (const example of examples) yield await Promise.resolve(example);
}

test.each([
  ['in the order of the rows', null, undefined],
  ['the first of them', null, 7],
  ['in an order of their own', 42, undefined],
  ['the first of that order', 42, 7],
])('writes examples %s, cut into shards', async (_, orderSeed, maxExamples) => {
  const examples = examplesOf(1000);
  const path = join(newFolder(), 'journal', 'examples.jsonl');
  const order = orderSeed === null ? examples.keys() : shuffledIndices(1000, orderSeed);
  const expected = [...order].flatMap((index) => examples[index] ?? []).slice(0, maxExamples);

  const draft = await ExampleDraft.write(path, {
    ...{ examples: oneByOne(examples), orderSeed, maxExamples },
    sizeOf: () => 300,
  });
  await draft.keep({ isPlanned: false });
  await draft.discard();

  const read = await Promise.all(
    draft.parts.map(async (part) => [...(await FrozenExamples.open(path, part))]),
  );
  expect(read.flat()).toEqual(expected);
  expect(read.map(({ length }) => length).slice(0, -1)).toEqual(Array(read.length - 1).fill(300));
  expect(draft.dataHash).toBe(dataHashOf(expected));
  expect(readdirSync(join(path, '..'))).toEqual(['examples.jsonl']);
});

test('asks for no more rows than it needs where their order is kept, and never for all at once', async () => {
  let givenCount = 0;
  async function* counted(): AsyncGenerator<Example> {
    for await (const example of oneByOne(examplesOf(100_000))) {
      givenCount += 1;
      yield example;
    }
  }

  const draft = await ExampleDraft.write(join(newFolder(), 'examples.jsonl'), {
    ...{ examples: counted(), orderSeed: null, maxExamples: 50 },
    sizeOf: () => 300,
  });
  await draft.discard();

  expect(givenCount).toBe(50);
});

test('rows that fail in the middle leave nothing behind', async () => {
  const folder = newFolder();
  async function* broken(): AsyncGenerator<Example> {
    yield* oneByOne(examplesOf(3));
    throw new Error('bad row');
  }

  const draft = ExampleDraft.write(join(folder, 'run', 'journal', 'examples.jsonl'), {
    ...{ examples: broken(), orderSeed: 1, maxExamples: undefined },
    sizeOf: () => 300,
  });

  await expect(draft).rejects.toThrow('bad row');
  expect(readdirSync(folder)).toEqual([]);
});

test('rows of a file longer than its parts are read whole, one after another', async () => {
  const path = join(newFolder(), 'data.jsonl');
  const rows = Array.from({ length: 3000 }, (_, index) => ({ index, text: 'é漢'.repeat(100) }));
  writeFileSync(path, `\ufeff${rows.map((row) => JSON.stringify(row)).join('\r\n')}`);
  const read: unknown[] = [];

  for await (const row of (await streamRows({ path })).rows) read.push(row);

  expect(readFileSync(path).length).toBeGreaterThan(1 << 20);
  expect(read).toEqual(rows);
});
