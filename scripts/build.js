/**
 * Builds dist/ from src/: compiled code with source maps, the declarations of the library, assets, the workflow bundle.
 *
 * The result is made in a folder beside dist/ and renamed into place, under a lock, so that nobody sees half a build
 * and two callers at once build once. `--if-needed` does nothing when dist/ is current; `--for-running` compiles without a look at
 * types and makes no declarations, in a fraction of the time (used where a developer runs the program, not where it is published).
 */
const fs = require('node:fs');
const path = require('node:path');
const { loadSource } = require('./run-source');
const { isCurrent, takeStamp, writeStamp } = require('./source-stamp');

const ROOT = path.resolve(__dirname, '..');
const DIST = path.join(ROOT, 'dist');
const CACHE = path.join(ROOT, '.cache');
const LIMIT_MS = 20 * 60_000;
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
/** Of a module of ours, in a declaration. */
const IMPORT = /(?:from |import\()['"](\.[^'"]*)['"]/g;
const MAP_START = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';

function isBuilt({ forRunning = false } = {}) {
  return isCurrent(ROOT, DIST) && (forRunning || fs.existsSync(path.join(DIST, 'client', 'index.d.ts')));
}

/**
 * @param {{ ifNeeded?: boolean, forRunning?: boolean, limitMs?: number, progress?: import('../src/stack/progress').Progress }} [options]
 *   `progress` shows what is done and for how long, and nothing where dist/ is current
 * @returns {Promise<'current' | 'built'>}
 */
async function build(options = {}) {
  if (options.ifNeeded && isBuilt(options)) return 'current';
  const { streamProgress } = await loadSource('stack/progress.ts');
  const { progressInLock, waitForLock } = await loadSource('stack/wait-for-lock.ts');
  const { progress = streamProgress(process.stderr) } = options;
  const lock = await waitForLock(path.join(CACHE, 'build.lock'), { progress });
  const cleanUp = () => {
    removeWork();
    lock.release();
  };
  const stopWatching = whenEnded(cleanUp);
  try {
    if (options.ifNeeded && isBuilt(options)) return 'current';
    await buildInto({ ...options, progress: progressInLock(lock, progress) });
    return 'built';
  } finally {
    stopWatching();
    cleanUp();
  }
}

/** However this process ends, short of kill -9, nothing half is left; the next build removes what that leaves. */
function whenEnded(cleanUp) {
  const leave = (signal) => process.exit(SIGNALS[signal]);
  process.once('exit', cleanUp);
  for (const signal of Object.keys(SIGNALS)) process.on(signal, leave);
  return () => {
    process.removeListener('exit', cleanUp);
    for (const signal of Object.keys(SIGNALS)) process.removeListener(signal, leave);
  };
}

async function buildInto(options) {
  const { inPhase } = await loadSource('stack/phase.ts');
  const stamp = takeStamp(ROOT);
  const work = path.join(CACHE, `dist-${process.pid}`);
  removeWork();
  fs.mkdirSync(work, { recursive: true });
  let doing = 'compiling';
  const phase = { name: 'Building everstep', describe: () => doing, limitMs: LIMIT_MS, ...options };
  await inPhase(phase, async (signal) => {
    await compile(work, { ...options, signal });
    if (!options.forRunning) keepPublicDeclarations(work);
    copyAssets(path.join(ROOT, 'src'), work);
    doing = 'bundling the workflows';
    await bundleWorkflows(work);
  });
  writeStamp(work, stamp);
  swap(work);
}

async function compile(outDir, { forRunning, signal }) {
  const { describeFailure, runProgram } = await loadSource('stack/run-program.ts');
  const program = forRunning ? [path.join(__dirname, 'transpile.js')] : typeCheckingCompiler();
  const args = [...program, '--outDir', outDir];
  const end = await runProgram({ program: process.execPath, args, folder: ROOT, signal });
  if (end.exitCode === 0) return;
  const name = forRunning ? 'The compiler' : 'tsc';
  // These exit codes say that the sources are wrong.
  const isToldWhere = [1, 2].includes(end.exitCode) && end.output.trim() !== '';
  throw new Error(isToldWhere ? `${name} failed:\n${end.output.trim()}` : describeFailure(name, end));
}

function typeCheckingCompiler() {
  const compiler = require.resolve('typescript/bin/tsc', { paths: [ROOT] });
  return [compiler, '-p', path.join(ROOT, 'tsconfig.build.json'), '--pretty', 'false'];
}

/** Of the declarations, those that the library's names. Nothing else can be imported from the package. */
function keepPublicDeclarations(dist) {
  const kept = new Set([path.join(dist, 'client', 'index.d.ts')]);
  for (const file of kept) {
    for (const [, name] of fs.readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const place = path.join(path.dirname(file), name);
      kept.add([`${place}.d.ts`, path.join(place, 'index.d.ts')].find((at) => fs.existsSync(at)));
    }
  }
  for (const name of fs.readdirSync(dist, { recursive: true })) {
    const file = path.join(dist, name);
    if (name.endsWith('.d.ts') && !kept.has(file)) fs.rmSync(file);
  }
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
  const { code } = await bundleWorkflowCode({
    ...{ workflowsPath, logger },
    payloadConverterPath: path.join(dist, 'workflows', 'payload-converter.js'),
    workflowInterceptorModules: [path.join(dist, 'workflows', 'interceptors.js')],
  });
  fs.writeFileSync(path.join(dist, 'workflow-bundle.js'), withSmallMap(code, dist));
}

/** A bundle whose source map has positions, which stack traces need, but neither the sources nor this machine's paths. */
function withSmallMap(code, dist) {
  const start = code.lastIndexOf(MAP_START);
  if (start < 0) throw new Error('The workflow bundle has no source map.');
  const map = JSON.parse(Buffer.from(code.slice(start + MAP_START.length), 'base64').toString());
  delete map.sourcesContent;
  map.sources = map.sources.map((source) =>
    source.replaceAll(`${dist}${path.sep}`, 'dist/').replaceAll(`${ROOT}${path.sep}`, ''),
  );
  return `${code.slice(0, start)}${MAP_START}${Buffer.from(JSON.stringify(map)).toString('base64')}`;
}

function swap(work) {
  const old = path.join(CACHE, `old-dist-${process.pid}`);
  if (fs.existsSync(DIST)) fs.renameSync(DIST, old);
  fs.renameSync(work, DIST);
}

/** Folders of this build, or of ones that were killed. Only the holder of the lock comes here, so nobody is using them. */
function removeWork() {
  for (const name of fs.readdirSync(CACHE)) {
    if (/^(old-)?dist-\d+$/.test(name))
      fs.rmSync(path.join(CACHE, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

module.exports = { build, isBuilt };

if (require.main === module) {
  const flags = new Set(process.argv.slice(2));
  build({
    ifNeeded: flags.has('--if-needed'),
    forRunning: flags.has('--for-running'),
  }).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
