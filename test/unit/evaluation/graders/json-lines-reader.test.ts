import { readJsonLines } from '../../../../src/evaluation/graders/json-lines-reader';

/** The same memory again and again. */
async function* endlessLine(): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.from('{"a": 1}\n'));
  const part = Buffer.alloc(2 ** 24);
  for (;;) yield part;
}

test('a line without an end is refused by its number before it fills the memory', async () => {
  const values: unknown[] = [];

  const reading = (async () => {
    for await (const { value } of readJsonLines('in.jsonl', endlessLine())) values.push(value);
  })();

  await expect(reading).rejects.toThrow(
    'in.jsonl: line 2 is longer than 256 MiB. Correct the line or remove it.',
  );
  expect(values).toEqual([{ a: 1 }]);
});
