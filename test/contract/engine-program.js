/**
 * The engine in a process of its own, to be killed: node engine-program.js DATA_FOLDER PORT
 *
 * Prints its address when it is ready.
 */
const path = require('node:path');
const { createJiti } = require('jiti');
const pino = require('pino');

const [dataFolder, port] = process.argv.slice(2);
const SOURCES = path.resolve(__dirname, '../../src/engines/local');

async function main() {
  const jiti = createJiti(__filename);
  const { createModelRuntime } = await jiti.import(path.join(SOURCES, 'compute/create-model-runtime.ts'));
  const { startLocalEngine } = await jiti.import(path.join(SOURCES, 'engine.ts'));
  const runtime = await createModelRuntime({ threads: 1 });
  const engine = await startLocalEngine({
    port: Number(port),
    dataFolder,
    runtime,
    logger: pino({ level: 'silent' }),
  });
  process.stdout.write(`${engine.url}\n`);
}

// Whoever started it holds this end of the pipe.
process.stdin.resume().on('end', () => process.exit(0));
main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
