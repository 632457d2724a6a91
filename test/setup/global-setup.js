/**
 * Before a test run: builds dist/ and starts one embedded Temporal server for all tests, whose address is in
 * EVERSTEP_TEST_TEMPORAL_ADDRESS (namespace `everstep`), and its program in EVERSTEP_TEST_TEMPORAL_BINARY. Tests keep apart by their own task queues and workflow ids.
 *
 * Skipped with EVERSTEP_TEST_NO_SERVER=1, and when only paths below test/unit were asked for: unit tests need neither.
 */
const { spawn } = require('node:child_process');
const { mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { createServer } = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { prepare } = require('../../scripts/prepare.js');

const ROOT = path.resolve(__dirname, '../..');
const FOLDER = 'everstep-test-server-';
/** Of the start alone: obtaining the server, which may mean building it, has limits of its own. */
const START_LIMIT_MS = 3 * 60_000;

module.exports = async (globalConfig) => {
  if (process.env.EVERSTEP_TEST_NO_SERVER || onlyUnitTests(globalConfig)) return;
  await prepare({ command: 'temporal' });
  const cli = await obtainCli();
  const server = await startServer(cli).catch((error) => {
    // On a machine under load it has failed while it started, once; what it wrote is told, and it has another try.
    process.stderr.write(`${error.message}\nAnother try.\n`);
    return startServer(cli);
  });
  process.env.EVERSTEP_TEST_TEMPORAL_BINARY = cli;
  process.env.EVERSTEP_TEST_TEMPORAL_ADDRESS = server.address;
  globalThis.everstepTestServer = server;
};

function onlyUnitTests(globalConfig) {
  const patterns = globalConfig?.testPathPatterns?.patterns ?? [];
  return patterns.length > 0 && patterns.every((pattern) => /(^|\/|\\)test[/\\]+unit([/\\]|$)/.test(pattern));
}

/** By what was just built, as commands do. */
async function obtainCli() {
  const { readEnvironment } = require('../../dist/config/environment.js');
  const { streamProgress } = require('../../dist/stack/progress.js');
  const { binaryLookup, obtainTemporalBinary } = require('../../dist/stack/temporal-binary.js');
  const { path: cli } = await obtainTemporalBinary(
    binaryLookup(readEnvironment(), streamProgress(process.stderr)),
  );
  return cli;
}

/** The service ends with its stdin pipe, so a test run that is killed leaves no server behind. */
async function startServer(cli) {
  removeOldFolders();
  const folder = mkdtempSync(path.join(os.tmpdir(), `${FOLDER}${process.pid}-`));
  const port = await freePort();
  const args = ['temporal', '--port', String(port), '--headless', '--data-dir', folder, '--exit-with-parent'];
  const child = spawn(process.execPath, [path.join(ROOT, 'bin/everstep.js'), ...args], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, EVERSTEP_NO_BUILD: '1', EVERSTEP_TEMPORAL_CLI: cli },
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(child);
  } catch (error) {
    await stop();
    throw error;
  }
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  return { address: `127.0.0.1:${port}`, pid: child.pid, stop };
}

/** Folders of test runs that were killed. */
function removeOldFolders() {
  for (const name of readdirSync(os.tmpdir())) {
    const pid = Number(new RegExp(`^${FOLDER}(\\d+)-`).exec(name)?.[1]);
    if (pid && !isAlive(pid)) rmSync(path.join(os.tmpdir(), name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function untilReady(child) {
  return new Promise((resolve, reject) => {
    let log = '';
    const fail = (how) =>
      reject(new Error(`No Temporal server for the tests (${how}). It wrote ${log || 'nothing.'}`));
    const timer = setTimeout(() => fail(`not ready after ${START_LIMIT_MS / 1000} s`), START_LIMIT_MS);
    const settle = (action) => {
      clearTimeout(timer);
      action();
    };
    child.stderr.setEncoding('utf8').on('data', (text) => {
      log = (log + text).slice(-4000);
    });
    child.stdout.once('data', () => settle(resolve));
    child.once('close', (code, signal) => settle(() => fail(signal ?? `exit code ${code}`)));
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
