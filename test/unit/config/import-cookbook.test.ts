import { importCookbookConfig } from '../../../src/config/import-cookbook';
import type { ImportOptions } from '../../../src/config/import-cookbook';
import { parseTrainingConfig } from '../../../src/config/parse-training-config';
import { DomainError } from '../../../src/core/errors';

const OPTIONS: ImportOptions = { source: 'config.json', folder: '/home/me' };

/** What version 0.5.8 of the cookbook wrote for a run with its defaults. */
const WRITTEN = {
  log_path: '/tmp/tinker-examples/run',
  model_name: 'everstep/tiny',
  recipe_name: 'interop',
  load_checkpoint_path: null,
  renderer_name: 'role_colon',
  dataset_builder: {
    common_config: {
      model_name_for_tokenizer: 'everstep/tiny',
      renderer_name: 'role_colon',
      max_length: 128,
      batch_size: 32,
      train_on_what: null,
    },
    file_path: 'data.jsonl',
    test_size: 0,
    shuffle_seed: 0,
  },
  learning_rate: 0.003,
  lr_schedule: 'linear',
  num_epochs: 8,
  lora_rank: 4,
  base_url: null,
  evaluator_builders: [],
  infrequent_evaluator_builders: [],
  save_every: 3,
  save_every_tokens: 0,
  save_every_seconds: 0.0,
  eval_every: 0,
  infrequent_eval_every: 0,
  ttl_seconds: 604800,
  rolling_save_every: 0,
  rolling_ttl_seconds: 7200,
  async_periodic_saves: false,
  adam_beta1: 0.9,
  adam_beta2: 0.95,
  adam_eps: 1e-8,
  wandb_project: null,
  wandb_name: null,
  session_name: null,
  enable_trace: false,
  span_chart_every: 0,
  max_steps: null,
  submit_ahead: 1,
};

function importing(changes: Readonly<Record<string, unknown>>, options = OPTIONS) {
  return importCookbookConfig({ ...WRITTEN, ...changes }, options);
}

function importingData(changes: Readonly<Record<string, unknown>>, options = OPTIONS) {
  return importing({ dataset_builder: { ...WRITTEN.dataset_builder, ...changes } }, options);
}

function reasonFor(imported: ReturnType<typeof importing>, key: string): string | undefined {
  return imported.notCarried.find((entry) => entry.key === key)?.reason;
}

function refusal(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
    expect(error).toMatchObject({ code: 'bad-config' });
    return (error as Error).message;
  }
  throw new Error('the config was accepted');
}

describe('a config the cookbook wrote', () => {
  test('becomes one of ours, every number under our key', () => {
    const { config } = importing({});

    expect(config).toEqual({
      kind: 'sft',
      model: 'everstep/tiny',
      renderer: 'role_colon',
      dataset: { path: '/home/me/data.jsonl' },
      epochs: 8,
      batchSize: 32,
      learningRate: 0.003,
      lrSchedule: 'linear',
      adam: { beta1: 0.9, beta2: 0.95, eps: 1e-8 },
      loraRank: 4,
      maxLength: 128,
      saveEvery: 3,
      ttlSeconds: 604_800,
      rollingSaveEvery: 0,
      rollingTtlSeconds: 7200,
      evalEvery: 0,
      infrequentEvalEvery: 0,
      submitAhead: 1,
    });
    expect(parseTrainingConfig(config)).toMatchObject({
      trainOnWhat: 'allAssistantMessages',
      lossReduction: 'mean',
    });
  });

  test('reads from top to bottom as the schema does', () => {
    expect(Object.keys(importing({}).config).slice(0, 4)).toEqual(['kind', 'model', 'renderer', 'dataset']);
  });

  test('names what has no place here, and nothing that is at its default', () => {
    expect(importing({}).notCarried.map(({ key }) => key)).toEqual([
      'log_path',
      'recipe_name',
      'dataset_builder.shuffle_seed',
    ]);
  });

  test('leaves no key without a word when every value is unusual', () => {
    const unusual = importing({
      load_checkpoint_path: 'tinker://run/weights/000100',
      renderer_name: 'llama3',
      base_url: 'http://127.0.0.1:8000',
      evaluator_builders: ['my_recipe.build_evaluator'],
      infrequent_evaluator_builders: [{ temperature: 0 }, { temperature: 1 }],
      save_every_tokens: 1000,
      save_every_seconds: 60,
      ttl_seconds: null,
      rolling_save_every: 5,
      rolling_ttl_seconds: 60,
      wandb_project: 'p',
      wandb_name: 'n',
      session_name: 's',
      enable_trace: true,
      span_chart_every: 10,
      max_steps: 50,
      submit_ahead: 100,
    });

    expect(unusual.config).toMatchObject({
      initialCheckpoint: 'tinker://run/weights/000100',
      renderer: 'role_colon',
      engine: { url: 'http://127.0.0.1:8000' },
      ttlSeconds: null,
      rollingSaveEvery: 5,
      rollingTtlSeconds: 3600,
      steps: 50,
      submitAhead: 16,
    });
    expect(unusual.config).not.toHaveProperty('epochs');
    expect(new Set(unusual.notCarried.map(({ key }) => key))).toEqual(
      new Set([
        ...['num_epochs', 'rolling_ttl_seconds', 'submit_ahead', 'enable_trace', 'log_path', 'recipe_name'],
        ...['save_every_seconds', 'save_every_tokens', 'session_name', 'span_chart_every', 'wandb_name'],
        ...['wandb_project', 'renderer_name', 'dataset_builder.shuffle_seed'],
        ...['evaluator_builders', 'infrequent_evaluator_builders'],
      ]),
    );
    expect(reasonFor(unusual, 'evaluator_builders')).toContain('my_recipe.build_evaluator');
    expect(reasonFor(unusual, 'infrequent_evaluator_builders')).toContain('2 of them');
  });

  test('reports keys it does not know, wherever they stand', () => {
    const imported = importing({
      warmup_tokens: 5,
      dataset_builder: {
        ...WRITTEN.dataset_builder,
        language: 'fr',
        common_config: { ...WRITTEN.dataset_builder.common_config, packing: true },
      },
    });

    for (const key of [
      'warmup_tokens',
      'dataset_builder.language',
      'dataset_builder.common_config.packing',
    ]) {
      expect(reasonFor(imported, key)).toBe('its meaning is not known here');
    }
  });
});

describe('data', () => {
  test('keeps absolute and home paths, and holds rows out', () => {
    const { config } = importingData({ file_path: '/data/train.jsonl', test_size: 16 });

    expect(config).toMatchObject({ dataset: { path: '/data/train.jsonl', testSize: 16 } });
  });

  test('leaves the initial weights as they are: the seed of the order is no seed of the adapter', () => {
    const imported = importingData({ file_path: '/data/train.jsonl', shuffle_seed: 3 });

    expect(imported.config).not.toHaveProperty('seed');
    expect(parseTrainingConfig(imported.config)).toMatchObject({ seed: 0 });
    expect(reasonFor(imported, 'dataset_builder.shuffle_seed')).toMatch(
      /another order.*initialises the adapter/,
    );
  });

  test('takes a single dataset of the hub', () => {
    const { config, notCarried } = importingData({
      file_path: undefined,
      sources: [{ path: 'org/chat', name: 'en', split: 'train_sft', weight: null, message_field: 'turns' }],
      stopping_strategy: 'all_exhausted',
    });

    expect(config).toMatchObject({ dataset: { hub: 'org/chat', subset: 'en', split: 'train_sft' } });
    expect(notCarried.map(({ key }) => key)).toContain('dataset_builder.sources.0.message_field');
  });

  test('translates which tokens carry loss', () => {
    const common_config = { ...WRITTEN.dataset_builder.common_config, train_on_what: 'last_assistant_turn' };

    expect(importingData({ common_config }).config).toMatchObject({ trainOnWhat: 'lastAssistantTurn' });
  });

  test('says that another tokenizer stays behind', () => {
    const common_config = { ...WRITTEN.dataset_builder.common_config, model_name_for_tokenizer: 'other/one' };
    const imported = importingData({ common_config });

    expect(reasonFor(imported, 'dataset_builder.common_config.model_name_for_tokenizer')).toBeDefined();
  });

  test.each([
    ['org/chat', { hub: 'org/chat' }],
    ['data/chat.jsonl', { path: '/home/me/data/chat.jsonl' }],
    ['./data/chat', { path: '/home/me/data/chat' }],
    ['/data/chat', { path: '/data/chat' }],
  ])('--dataset %s takes the place of a builder without data', (dataset, expected) => {
    const { common_config } = WRITTEN.dataset_builder;
    const imported = importing({ dataset_builder: { common_config } }, { ...OPTIONS, dataset });

    expect(imported.config['dataset']).toEqual(expected);
  });

  test.each([
    ["a recipe's own builder", { file_path: undefined }, '--dataset'],
    ['a mixture', { file_path: undefined, sources: [{ path: 'a/b' }, { path: 'c/d' }] }, 'mixes 2 datasets'],
    ['a bucket', { file_path: 'gs://bucket/train.jsonl' }, 'not on this machine'],
    ['no common settings', { common_config: undefined }, 'dataset_builder.common_config is missing'],
  ])('refuses %s with the remedy', (_, changes, says) => {
    expect(refusal(() => importingData(changes))).toContain(says);
  });
});

describe('what is no supervised config', () => {
  test.each([
    ['reinforcement learning', { loss_fn: 'importance_sampling', max_tokens: 128 }],
    ['preference training (DPO)', { dpo_beta: 0.1 }],
    ['distillation', { dataset_configs: [], loss_fn: 'importance_sampling' }],
  ])('refuses %s by name', (kind, keys) => {
    const message = refusal(() => importing(keys));

    expect(message).toContain(kind);
    expect(message).toContain('only supervised configs');
  });

  test.each([[null], [[]], ['text'], [7]])('refuses %p', (written) => {
    expect(refusal(() => importCookbookConfig(written, OPTIONS))).toContain('config.json holds no config');
  });

  test('refuses a config of ours', () => {
    expect(refusal(() => importCookbookConfig({ kind: 'sft', model: 'm' }, OPTIONS))).toContain(
      'everstep train',
    );
  });

  test('explains a value that our schema does not accept', () => {
    expect(refusal(() => importing({ learning_rate: 'fast' }))).toContain('learningRate');
    expect(refusal(() => importing({ model_name: undefined }))).toContain('model');
  });
});
