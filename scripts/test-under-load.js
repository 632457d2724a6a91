/**
 * Runs tests again and again beside busy loops: a test that waits for a time, or races the machine, fails here first.
 *
 *     npm run test:load -- [--loops 6] [--times 3] [PATTERN…]
 *
 * Fails when any time failed, and names the tests that did. The loops end with this process, however it ends.
 */
const { spawn } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');

const USAGE = 'npm run test:load -- [--loops 6] [--times 3] [PATTERN…]';
const OPTIONS = { loops: { type: 'string', default: '6' }, times: { type: 'string', default: '3' } };
const JEST = require.resolve('jest/bin/jest');
const ROOT = path.resolve(__dirname, '..');
// Looks for its parent itself, since a process that is killed can end nobody.
const BUSY_LOOP = 'while (process.ppid === Number(process.argv[1]));';
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

async function main(args) {
  const options = readLoadOptions(args);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-test-load-'));
  const running = new Set();
  const end = () => {
    for (const child of running) child.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  };
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      end();
      process.exit(128 + os.constants.signals[signal]);
    });
  }
  try {
    for (let loop = 0; loop < options.loops; loop++) start(running, ['-e', BUSY_LOOP, String(process.pid)]);
    const report = path.join(folder, 'report.json');
    return await runTimes(options, () => runJest(running, options.patterns, report), say);
  } finally {
    end();
  }
}

/** @returns {{ loops: number, times: number, patterns: string[] }} */
function readLoadOptions(args) {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const wholeNumber = (name, least) => {
    const value = Number(values[name]);
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new Error(`--${name} is "${values[name]}"; it is a whole number from ${least}.`);
  };
  return { loops: wholeNumber('loops', 0), times: wholeNumber('times', 1), patterns: positionals };
}

/** Prints each time's result, and at the end which tests failed how often; 0 where none did. */
async function runTimes({ loops, times }, runOnce, say) {
  const failures = new Map();
  let failedTimes = 0;
  for (let time = 1; time <= times; time++) {
    const begin = performance.now();
    const { isPassed, failed } = await runOnce();
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    say(
      `Time ${time} of ${times} beside ${loops} busy loops: ${isPassed ? 'passed' : 'FAILED'} (${seconds} s)`,
    );
    if (!isPassed) failedTimes++;
    for (const name of failed) failures.set(name, (failures.get(name) ?? 0) + 1);
  }
  say(`Failed ${failedTimes} of ${times} times.`);
  for (const [name, count] of failures) say(`  ${count} of ${times}: ${name}`);
  return failedTimes === 0 ? 0 : 1;
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

async function runJest(running, patterns, report) {
  rmSync(report, { force: true });
  const child = start(running, [JEST, ...patterns, '--json', `--outputFile=${report}`], 'inherit');
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  return { isPassed: code === 0, failed: namesOfFailed(report) };
}

function start(running, args, stdio = 'ignore') {
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

function namesOfFailed(report) {
  try {
    return failuresIn(JSON.parse(readFileSync(report, 'utf8')));
  } catch {
    return ['(jest ended without a report)'];
  }
}

/** "file: test" for each test that failed in a report of jest's; the file alone where it could not be run. */
function failuresIn({ testResults }) {
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, assertionResults }) => {
      const file = path.relative(ROOT, name);
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      return tests.length === 0 ? [file] : tests.map(({ fullName }) => `${file}: ${fullName}`);
    });
}

module.exports = { BUSY_LOOP, failuresIn, readLoadOptions, runTimes };

if (require.main === module) {
  main(process.argv.slice(2)).then(
    (code) => (process.exitCode = code),
    (error) => {
      process.stderr.write(`${error.message}\nUsage: ${USAGE}\n`);
      process.exitCode = 2;
    },
  );
}
