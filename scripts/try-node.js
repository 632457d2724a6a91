/**
 * Runs tests with another Node, which the npm package `node` brings: the unit tests, and a run on a real Temporal server.
 *
 *     npm run try:node -- 20.19.0
 *     npm run try:node -- 22 --quick     only the unit tests of what touches the system or V8
 */
const { spawnSync } = require('node:child_process');
const path = require('node:path');

const ROOT = path.resolve(__dirname, '..');
const JEST = path.join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
/** Processes, files, sockets, threads, WebAssembly, modules. The rest is arithmetic and text, the same in each Node. */
const QUICK = 'test/unit/(bin|cli|config|engines|sandboxes|server|stack|stores|workers)/';
const RUN = ['test/workflows/train-supervised', '--testNamePattern', 'every step once|same weights'];

function main([version, ...flags]) {
  if (!/^\d+(\.\d+){0,2}$/.test(version ?? '')) throw new Error('Say which Node: npm run try:node -- 22');
  const node = obtain(version);
  process.stdout.write(`${execute(node, ['--version'], { stdio: 'pipe' }).trim()}: ${node}\n`);
  execute(node, [JEST, flags.includes('--quick') ? QUICK : 'test/unit', '--silent']);
  execute(node, [JEST, ...RUN]);
}

/** Its install fetches the binary of this platform from the same registry. */
function obtain(version) {
  const args = ['--yes', '--package', `node@${version}`, '--call', 'node --print process.execPath'];
  return execute('npx', args, { stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

function execute(command, args, { stdio = 'inherit' } = {}) {
  const PATH = [path.dirname(command), process.env.PATH].join(path.delimiter);
  const { status, error, stdout } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio,
    env: { ...process.env, PATH },
  });
  if (status === 0) return stdout ?? '';
  throw new Error(`${path.basename(command)} ${args.join(' ')}: ${error?.message ?? `ended with ${status}`}`);
}

try {
  main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
