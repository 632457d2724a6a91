/**
 * Runs a project of jest.config.js. A suite that failed is run once more, alone, when the others have ended: one that then passes is
 * unsteady, which is told at the end and fails nothing; one that fails twice fails the command. The last line counts the tests.
 *
 *     node scripts/test-suites.js quick|stack [--once] [PATTERN…] [-- options of jest]
 *
 * `--once` gives no second chance. With patterns the tests of all projects are searched.
 */
const { spawn } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.resolve(__dirname, '..');
const JEST = require.resolve('jest/bin/jest');
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

async function main(args) {
  const { jestArguments, isOnce } = readTestOptions(args);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-test-report-'));
  try {
    const outcome = await runTwice({ jestArguments, isOnce }, (list) =>
      runJest(list, path.join(folder, 'report.json')),
    );
    process.stdout.write(`\n${describeOutcome(outcome)}\n`);
    return outcome.isPassed ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns {{ jestArguments: string[], isOnce: boolean }} */
function readTestOptions([project, ...rest]) {
  const own = rest.filter((argument) => argument !== '--once' && argument !== '--');
  const hasPattern = own.some((argument) => !argument.startsWith('-'));
  return {
    jestArguments: hasPattern ? own : ['--selectProjects', project, ...own],
    isOnce: rest.includes('--once'),
  };
}

/**
 * @param runOnce runs jest with a list of arguments; resolves to its exit code and its report, null where it wrote none
 * @returns {Promise<{ isPassed: boolean, counts: object, unsteady: string[], failed: string[] }>} suites by their path
 */
async function runTwice({ jestArguments, isOnce }, runOnce) {
  const first = await runOnce(jestArguments);
  const suites = new Map((first.report?.testResults ?? []).map((suite) => [suite.name, suite]));
  const failed = failedSuites(first.report);
  // A run that failed and names no suite, as when no server could be started, would fail again.
  if (first.code === 0 || failed.length === 0 || isOnce) {
    return { isPassed: first.code === 0, counts: countTests(suites.values()), unsteady: [], failed };
  }
  const second = await runOnce(['--runInBand', '--runTestsByPath', ...failed]);
  for (const suite of second.report?.testResults ?? []) suites.set(suite.name, suite);
  const twice = second.report === null ? failed : failedSuites(second.report);
  return {
    isPassed: second.code === 0 && twice.length === 0,
    counts: countTests(suites.values()),
    unsteady: failed.filter((suite) => !twice.includes(suite)),
    failed: twice,
  };
}

function failedSuites(report) {
  return (report?.testResults ?? []).filter(({ status }) => status === 'failed').map(({ name }) => name);
}

/** Of tests; a suite that failed without one that did, as one that does not compile, is one more. */
function countTests(suites) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { assertionResults, status } of suites) {
    const before = counts.failed;
    for (const test of assertionResults) {
      if (test.status === 'passed' || test.status === 'failed') counts[test.status] += 1;
      else counts.skipped += 1;
    }
    if (status === 'failed' && counts.failed === before) counts.failed += 1;
  }
  return counts;
}

function describeOutcome({ isPassed, counts, unsteady, failed }) {
  const { passed, skipped } = counts;
  const lines = [];
  if (unsteady.length > 0) {
    const suites = unsteady.length === 1 ? 'suite was' : 'suites were';
    lines.push(`${unsteady.length} ${suites} unsteady: ${unsteady.map(shortPath).join(', ')}`);
  }
  if (failed.length > 0) lines.push(`Failed: ${failed.map(shortPath).join(', ')}`);
  // What failed outside of any test has to be counted too.
  const failedCount = isPassed ? counts.failed : Math.max(1, counts.failed);
  lines.push(`${passed} passed, ${failedCount} failed, ${skipped} skipped`);
  return lines.join('\n');
}

function shortPath(suite) {
  return path.relative(ROOT, suite).split(path.sep).join('/');
}

function runJest(jestArguments, reportFile) {
  rmSync(reportFile, { force: true });
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [JEST, '--json', '--outputFile', reportFile, ...jestArguments], {
      cwd: ROOT,
      // With --json the report goes to standard output too; what people read goes to the other.
      stdio: ['inherit', 'ignore', 'inherit'],
    });
    // Ctrl-C reaches jest by itself; this waits for its end.
    const forward = (signal) => child.kill(signal);
    for (const signal of SIGNALS) process.on(signal, forward);
    child.on('error', reject).on('close', (code, signal) => {
      for (const each of SIGNALS) process.off(each, forward);
      if (signal === null && code !== null) resolve({ code, report: readReport(reportFile) });
      else reject(new Error(`jest was ended by ${signal}.`));
    });
  });
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

module.exports = { readTestOptions, runTwice, describeOutcome };

if (require.main === module) {
  main(process.argv.slice(2)).then(
    (code) => (process.exitCode = code),
    (error) => {
      process.stderr.write(`${error.message}\n`);
      process.exitCode = 1;
    },
  );
}
