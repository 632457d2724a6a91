import { chooseFiles } from '../../../src/datasets/hub-file-choice';

const SHARDS = ['data/train-00000-of-00002.parquet', 'data/train-00001-of-00002.parquet'];
test.each([
  [[...SHARDS, 'data/test-00000-of-00001.parquet'], undefined, 'train', SHARDS],
  [['main/train/0000.parquet', 'socratic/train/0000.parquet'], 'main', 'train', ['main/train/0000.parquet']],
  [['train.jsonl', 'train_extra.json'], undefined, 'train', ['train.jsonl']],
  [
    ['data/train_sft-00000-of-00001.parquet', 'data/train_gen-00000-of-00001.parquet'],
    undefined,
    'train_gen',
    ['data/train_gen-00000-of-00001.parquet'],
  ],
  [['default/partial-train/0000.parquet'], 'default', 'train', ['default/partial-train/0000.parquet']],
  [['en/train.jsonl', 'en-US/train.jsonl'], 'en', 'train', ['en/train.jsonl']],
  [['alpaca_data.json', 'dataset_infos.json', '.cache/x.json'], undefined, 'train', ['alpaca_data.json']],
])('finds among %j, for subset %s, the split %s', (paths, config, split, expected) => {
  expect(chooseFiles(paths, { hub: 'org/name', split, ...(config ? { config } : {}) })).toEqual(expected);
});

test.each([
  [['data/train_sft-00000-of-00001.parquet', 'data/train_gen-00000-of-00001.parquet'], 'train'],
  [['a.jsonl', 'b.jsonl'], 'train'],
  [['alpaca_data.json'], 'test'],
])('refuses to guess among %j for the split %s', (paths, split) => {
  expect(() => chooseFiles(paths, { hub: 'org/name', split })).toThrow(/more than one set|no data file/);
});
