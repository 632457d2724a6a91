import { Everstep } from '../../../src/client/everstep';
import { TestPlugins } from './plugins';
import { TestRuns } from './runs';
import { TestStack } from './stack';

export interface Connected {
  readonly stack: TestStack;
  readonly runs: TestRuns;
  readonly plugins: TestPlugins;
  readonly everstep: Everstep;
}

/** A stack with workers, and what runs on it are made and asked with. */
export async function connect(): Promise<Connected> {
  const stack = await TestStack.start();
  await stack.startWorkers();
  const { address, namespace, folder } = stack;
  const everstep = await Everstep.connect({ address, namespace, store: `${folder}/store` });
  return { stack, runs: new TestRuns(stack), plugins: new TestPlugins(folder), everstep };
}

export async function disconnect({ everstep, stack }: Connected): Promise<void> {
  await everstep.close();
  await stack.stop();
}
