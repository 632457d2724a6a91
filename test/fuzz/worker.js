/** A thread of its own for one target: what hangs in it can be ended, and what takes all memory ends it alone. */
const { parentPort, workerData } = require('node:worker_threads');

async function main() {
  const jiti = require('jiti').createJiti(__filename);
  const { fuzzTarget } = await jiti.import('./fuzz-target.ts');
  await fuzzTarget(workerData, (message) => parentPort.postMessage(message));
  process.exit(0);
}

main().catch((error) => {
  setImmediate(() => {
    throw error;
  });
});
