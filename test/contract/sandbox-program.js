/**
 * A worker that runs programs in sandboxes until it is killed: node sandbox-program.js LEASES_FOLDER KIND
 *
 * Prints a line for each program that is done.
 */
const path = require('node:path');
const { createJiti } = require('jiti');

const [folder, kind] = process.argv.slice(2);
const PLACES = 2;
const SOURCES = path.resolve(__dirname, '../../src/sandboxes');

async function main() {
  const jiti = createJiti(__filename);
  const { Leases } = await jiti.import(path.join(SOURCES, 'leases/leases.ts'));
  const { SandboxPool } = await jiti.import(path.join(SOURCES, 'sandbox-pool.ts'));
  const { sandboxKinds } = await jiti.import(path.join(SOURCES, 'choose-kind.ts'));
  const leases = new Leases(folder);
  const pool = new SandboxPool({
    kind: sandboxKinds(leases).find(({ name }) => name === kind),
    leases,
    size: PLACES,
  });
  const work = async (place) => {
    for (let done = 0; ; done++) {
      await pool.use(async (sandbox) => {
        const source = `import time\nopen("file", "w").write("x" * 1000)\ntime.sleep(0.2)\nprint(${place}, ${done})`;
        const { stdout } = await sandbox.exec(['python3', '-c', source]);
        process.stdout.write(stdout);
      });
    }
  };
  await Promise.all(Array.from({ length: PLACES }, (_, place) => work(place)));
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
