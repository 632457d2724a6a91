import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { Everstep } from '../src/client/everstep';
import type { TrainingConfigInput } from '../src/config/training-config';
import type { BenchServices } from './services';

const NAMESPACE = 'everstep';

/** What a benchmark asks the services through. */
export interface BenchClient {
  readonly everstep: Everstep;
  readonly temporal: Client;
  close(): Promise<void>;
}

export async function connectTo(services: BenchServices): Promise<BenchClient> {
  const connection = await Connection.connect({ address: services.address });
  const everstep = await Everstep.connect({
    address: services.address,
    dataFolder: services.folder,
    store: services.store,
  });
  return {
    everstep,
    temporal: new Client({ connection, namespace: NAMESPACE }),
    async close() {
      await everstep.close();
      await connection.close();
    },
  };
}

type SupervisedInput = Extract<TrainingConfigInput, { kind: 'sft' }>;

/** The small model with small batches, so that what surrounds a step weighs most. */
export function tinyConfig(more: Partial<SupervisedInput>): SupervisedInput {
  return {
    kind: 'sft',
    model: 'everstep/tiny',
    dataset: { path: path.join(__dirname, '..', 'data', 'arithmetic', 'train.jsonl') },
    batchSize: 8,
    loraRank: 4,
    saveEvery: 0,
    ...more,
  };
}
