/** Replays a history of `train/<run>` with the built workflow code, in this fresh process: first and second time. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { temporal } from '@temporalio/proto';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';

const { History } = temporal.api.history.v1;
const codePath = path.join(__dirname, '..', 'dist', 'workflow-bundle.js');

async function main(file: string): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  // Our own recording, written a moment ago by the program that started this one.
  const history = History.fromObject(JSON.parse(readFileSync(file, 'utf8')) as object);
  const seconds: string[] = [];
  for (let turn = 0; turn < 2; turn++) {
    const startedAt = performance.now();
    await Worker.runReplayHistory({ workflowBundle: { codePath } }, history);
    seconds.push(((performance.now() - startedAt) / 1000).toFixed(2));
  }
  console.log(`${seconds[0]} s in a fresh process, ${seconds[1]} s the second time`);
}

void main(process.argv[2] ?? '');
