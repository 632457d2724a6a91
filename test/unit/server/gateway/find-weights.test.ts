import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { findWeights } from '../../../../src/server/gateway/find-weights';
import { createRunStore } from '../../../../src/stores/run-store';
import { findCheckpointSource } from '../../../../src/training/checkpoint-source';

const root = mkdtempSync(path.join(os.tmpdir(), 'everstep-weights-'));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

test('a checkpoint is spoken to with what the template of its run was given', async () => {
  const store = createRunStore(root);
  const templateArguments = { enable_thinking: false };
  await store.claim('mine', { workflowId: 'train/mine', firstRunId: 'first' });
  await store.writeConfig('mine', {
    renderer: 'chat_template',
    config: { model: 'a/b', templateArguments, engine: {} },
  });
  const row = {
    name: 'step-5',
    batch: 5,
    step: 5,
    lineage: 0,
    state_path: null,
    sampler_path: 'tinker://a/b',
  };
  writeFileSync(path.join(store.runFolder('mine'), 'checkpoints.jsonl'), `${JSON.stringify(row)}\n`);

  const format = { renderer: 'chat_template', templateArguments };
  expect(await findWeights('mine@5', store)).toMatchObject(format);
  expect(await findCheckpointSource(store, 'mine@5')).toMatchObject(format);
});
