import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { datasetOf } from '../../../src/evaluation/dataset-of';
import type { SequenceSite } from '../../../src/evaluation/evaluators/nll-sequence';
import { createDatasetReader } from '../../../src/training/dataset-source';
import { evaluatorRowRemarks } from '../../../src/training/evaluator-rows';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from '../renderers/character-tokenizer';
import { newFolder } from '../evaluation/runner/fake-model';

const JUDGE = { model: 'judge', endpoint: 'http://127.0.0.1:1/v1' };
const asked = { role: 'user', content: 'q' };
const reply = (content: string) => ({ role: 'assistant', content });

function fileOf(...rows: readonly object[]): string {
  const path = join(newFolder(), 'held.jsonl');
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}

function readerOf() {
  return createDatasetReader({ cacheFolder: newFolder() });
}

const tokenizer = new CharacterTokenizer();

function siteOf(changes: Partial<SequenceSite> = {}) {
  const sequences: SequenceSite = {
    ...{ tokenizer, renderer: findRenderer('everstep', tokenizer), contextLength: 40 },
    ...changes,
  };
  return {
    readDataset: readerOf(),
    openSequences: () => Promise.resolve(sequences),
    onProgress: () => undefined,
    signal: new AbortController().signal,
  };
}

test('rows that the dataset of an evaluator leaves out are remarked, with the first of them', async () => {
  const path = fileOf({ messages: [asked, reply('a')] }, { text: 'a' }, { text: 'b' });
  const whole = fileOf({ messages: [asked, reply('a')] });
  const evaluators = {
    held: EvaluatorConfig.parse({ type: 'nll', name: 'held', dataset: { path, onBadRow: 'skip' } }),
    strict: EvaluatorConfig.parse({ type: 'nll', name: 'strict', dataset: { path: whole } }),
  };

  const remarks = await evaluatorRowRemarks(siteOf(), evaluators);

  expect(remarks).toEqual([
    expect.stringMatching(
      /^Evaluator "held": 2 rows are left out \(onBadRow: skip\), the first, \S*held\.jsonl line 2, because: no known shape/,
    ),
  ]);
});

describe('a row of nll that is longer than the model reads', () => {
  const long = { messages: [{ role: 'user', content: 'q'.repeat(60) }, reply('a')] };
  const path = fileOf({ messages: [asked, reply('a')] }, long, { messages: [asked, reply('b'.repeat(60))] });
  const held = (dataset: object = {}, more: object = {}) => ({
    held: EvaluatorConfig.parse({ type: 'nll', name: 'held', dataset: { path, ...dataset }, ...more }),
  });
  const cutting = { trainOnWhat: 'allAssistantMessages', lossReduction: 'mean', maxLength: 20 } as const;

  test('is refused by file and line before anything is trained', async () => {
    await expect(evaluatorRowRemarks(siteOf(), held())).rejects.toThrow(
      /^evaluator "held": \S*held\.jsonl line 2: it has 6\d tokens and the model reads 40\. .* 1 more of its rows cannot be measured either\.$/,
    );
  });

  test('is left out with onBadRow: skip, and said', async () => {
    expect(await evaluatorRowRemarks(siteOf(), held({ onBadRow: 'skip' }))).toEqual([
      expect.stringMatching(
        /^Evaluator "held": 2 rows are left out \(onBadRow: skip\), the first, \S*held\.jsonl line 2, because: it has 6\d tokens/,
      ),
    ]);
  });

  test('is taken where maxLength allows cutting, and where the service does not say what it reads', async () => {
    expect(await evaluatorRowRemarks(siteOf({ supervision: cutting }), held())).toEqual([]);
    expect(await evaluatorRowRemarks(siteOf({ contextLength: null }), held())).toEqual([]);
  });
});

describe('an evaluator whose judge compares with the last reply', () => {
  const path = fileOf(
    { messages: [asked, reply('a')] },
    { messages: [asked] },
    { messages: [asked, reply(' ')] },
  );
  const graded = (more: object) =>
    EvaluatorConfig.parse({
      ...{ type: 'modelGraded', name: 'judged', judge: JUDGE, maxTokens: 10 },
      ...more,
    });
  const read = async (more: object, dataset: object = {}) => {
    const evaluator = graded({ dataset: { path, ...dataset }, ...more });
    if (!('dataset' in evaluator)) throw new Error('it has a dataset');
    return readerOf()(datasetOf(evaluator));
  };

  test.each(['qa', 'fact'])('refuses rows without one when they are read, by method %s', async (method) => {
    await expect(read({ method })).rejects.toThrow(
      /held\.jsonl has 2 bad rows of 3:\n {2}- line 2: the conversation has no reply at its end, .*\n {2}- line 3:/,
    );
    const { rows, skipped } = await read({ method }, { onBadRow: 'skip' });
    expect([rows.length, skipped.map(({ line }) => line)]).toEqual([1, [2, 3]]);
  });

  test('refuses them where a comparison is with the dataset’s own replies, and says what else it may be with', async () => {
    const compared = { type: 'comparison', maxTokens: 10 };
    await expect(read(compared)).rejects.toThrow(
      /held\.jsonl has 2 bad rows of 3:\n {2}- line 2: the conversation has no reply at its end, .* or set baseline: base, which .*\n {2}- line 3:/,
    );
    const { rows, skipped } = await read(compared, { onBadRow: 'skip' });
    expect([rows.length, skipped.map(({ line }) => line)]).toEqual([1, [2, 3]]);
    expect((await read({ ...compared, baseline: 'base' })).rows).toHaveLength(3);
    const other = { checkpoint: 'run@3' };
    expect((await read({ ...compared, baseline: other })).rows).toHaveLength(3);
  });

  test.each([{ method: 'score' }, { method: 'qa', template: '{question} {answer}' }])(
    'takes them where nothing is compared: %j',
    async (more) => {
      expect((await read(more)).rows).toHaveLength(3);
    },
  );
});
