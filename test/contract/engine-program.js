/**
 * The engine in a process of its own, to be killed: node engine-program.js DATA_FOLDER PORT
 *
 * Prints its address when it is ready.
 */
const path = require('node:path');
const pino = require('pino');

const [dataFolder, port] = process.argv.slice(2);
/** As built before the tests: compiling the sources again takes seconds. */
const ENGINE = path.resolve(__dirname, '../../dist/engines/local');
const { createModelRuntime } = require(path.join(ENGINE, 'compute/create-model-runtime.js'));
const { startLocalEngine } = require(path.join(ENGINE, 'engine.js'));

async function main() {
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
