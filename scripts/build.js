/**
 * Builds dist/ from src/: compiled code with declarations and source maps, assets, the workflow bundle.
 *
 * The result is made in a folder beside dist/ and renamed into place, under a lock, so that nobody sees half a build
 * and two callers at once build once. `--if-needed` does nothing when dist/ is current; `--tolerate-type-errors` keeps
 * what the compiler emitted in spite of them (used where a developer runs the program, not where it is published).
 */
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { isCurrent, takeStamp, writeStamp } = require('./source-stamp');

const ROOT = path.resolve(__dirname, '..');
const DIST = path.join(ROOT, 'dist');
const LOCK = path.join(ROOT, '.cache', 'build.lock');
const WAIT_LIMIT_MS = 10 * 60_000;

/**
 * @param {{ ifNeeded?: boolean, tolerateTypeErrors?: boolean, announce?: (phase: string) => void }} [options]
 *   `announce` hears what is begun, and nothing where dist/ is current
 * @returns {Promise<'current' | 'built'>}
 */
async function build(options = {}) {
  if (options.ifNeeded && isCurrent(ROOT, DIST)) return 'current';
  const release = await lock(options);
  try {
    if (options.ifNeeded && isCurrent(ROOT, DIST)) return 'current';
    await buildInto(options);
    return 'built';
  } finally {
    release();
  }
}

async function buildInto(options) {
  const stamp = takeStamp(ROOT);
  const work = path.join(ROOT, '.cache', `dist-${process.pid}`);
  removeLeftovers();
  fs.mkdirSync(work, { recursive: true });
  try {
    options.announce?.('compiling');
    await compile(work, options);
    copyAssets(path.join(ROOT, 'src'), work);
    options.announce?.('bundling the workflows');
    await bundleWorkflows(work);
    writeStamp(work, stamp);
    swap(work);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

async function compile(outDir, options) {
  const compiler = require.resolve('typescript/bin/tsc', { paths: [ROOT] });
  const args = [
    compiler,
    '-p',
    path.join(ROOT, 'tsconfig.build.json'),
    '--outDir',
    outDir,
    '--pretty',
    'false',
  ];
  const { status, text } = await runNode(args);
  if (status === 0) return;
  const lines = text.trim().split('\n');
  if (!options.tolerateTypeErrors) throw new Error(`tsc failed:\n${lines.join('\n')}`);
  process.stderr.write(
    `everstep: built with type errors (${lines.length} lines, first: ${lines[0]}); see npm run check:types\n`,
  );
}

/** Beside this process, so that whoever waits can be told how long already. */
function runNode(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    }
    child.on('error', reject).on('close', (status) => resolve({ status, text }));
  });
}

function copyAssets(from, to) {
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const source = path.join(from, entry.name);
    const target = path.join(to, entry.name);
    if (entry.isDirectory()) copyAssets(source, target);
    else if (!/\.tsx?$/.test(entry.name)) {
      fs.mkdirSync(to, { recursive: true });
      fs.copyFileSync(source, target);
    }
  }
}

async function bundleWorkflows(dist) {
  const workflowsPath = path.join(dist, 'workflows', 'index.js');
  if (!fs.existsSync(workflowsPath)) return;
  const { bundleWorkflowCode } = require(require.resolve('@temporalio/worker', { paths: [ROOT] }));
  const quiet = () => {};
  const logger = {
    log: quiet,
    trace: quiet,
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (message) => process.stderr.write(`${message}\n`),
  };
  const { code } = await bundleWorkflowCode({ workflowsPath, logger });
  fs.writeFileSync(path.join(dist, 'workflow-bundle.js'), code);
}

function swap(work) {
  const old = path.join(ROOT, '.cache', `old-dist-${process.pid}`);
  if (fs.existsSync(DIST)) fs.renameSync(DIST, old);
  fs.renameSync(work, DIST);
  fs.rmSync(old, { recursive: true, force: true });
}

/** Folders of builds that were killed. Only the holder of the lock comes here, so nobody is using them. */
function removeLeftovers() {
  for (const name of fs.readdirSync(path.join(ROOT, '.cache'))) {
    if (/^(old-)?dist-\d+$/.test(name))
      fs.rmSync(path.join(ROOT, '.cache', name), { recursive: true, force: true });
  }
}

async function lock({ announce }) {
  fs.mkdirSync(path.dirname(LOCK), { recursive: true });
  const deadline = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    if (tryLock()) return () => fs.rmSync(LOCK, { force: true });
    announce?.('waiting for another build');
    if (Date.now() > deadline)
      throw new Error(`Another build holds ${LOCK}. Remove it if no build is running.`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function tryLock() {
  try {
    fs.writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (!isHolderAlive()) stealLock();
  return false;
}

function isHolderAlive() {
  try {
    const pid = Number(fs.readFileSync(LOCK, 'utf8'));
    const age = Date.now() - fs.statSync(LOCK).mtimeMs;
    if (!pid) return age < 2000; // just created, not written yet
    if (age > WAIT_LIMIT_MS) return false;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Moves the dead lock aside before removing it; a live one caught by mistake is put back. */
function stealLock() {
  const aside = `${LOCK}.${process.pid}`;
  try {
    const before = fs.readFileSync(LOCK, 'utf8');
    fs.renameSync(LOCK, aside);
    if (fs.readFileSync(aside, 'utf8') !== before) fs.linkSync(aside, LOCK);
  } catch {
    // Somebody else was faster.
  }
  fs.rmSync(aside, { force: true });
}

module.exports = { build };

if (require.main === module) {
  const flags = new Set(process.argv.slice(2));
  build({
    ifNeeded: flags.has('--if-needed'),
    tolerateTypeErrors: flags.has('--tolerate-type-errors'),
  }).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
