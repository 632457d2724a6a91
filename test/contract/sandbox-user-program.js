/**
 * Runs one program in a sandbox of bubblewrap as another user: node sandbox-user-program.js LEASES_FOLDER USER OPTIONS < SOURCE
 *
 * Prints the result as JSON.
 */
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { createJiti } = require('jiti');

const [folder, user, options] = process.argv.slice(2);
const SOURCES = path.resolve(__dirname, '../../src/sandboxes');

async function main() {
  const jiti = createJiti(__filename);
  const { Leases } = await jiti.import(path.join(SOURCES, 'leases/leases.ts'));
  const { BubblewrapKind } = await jiti.import(path.join(SOURCES, 'bubblewrap/bubblewrap-kind.ts'));
  const source = readFileSync(0);
  // The sources may lie where only root may read.
  process.setgroups([]);
  process.setgid(Number(user));
  process.setuid(Number(user));
  const sandbox = await new BubblewrapKind(new Leases(folder)).open();
  await sandbox.writeFile('program.py', source);
  const result = await sandbox.exec(['python3', 'program.py'], JSON.parse(options));
  await sandbox.close();
  process.stdout.write(JSON.stringify(result));
  process.exit();
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
