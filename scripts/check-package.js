/**
 * Checks the package as `npm pack` makes it: publint and "are the types wrong?", that the links of its documents lead
 * somewhere in it, that nothing in it names a folder of this machine, and its size.
 */
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { build } = require('./build');

const ROOT = path.resolve(__dirname, '..');
/** A tenth above what it is, so that nothing large comes in unseen. */
const LIMITS = { size: 11_500_000, unpackedSize: 19_800_000, entryCount: 1910 };
const LINK = /\]\((?!https?:|mailto:|#)([^)#\s]+)/g;

/** Packs dist/ as it is into the folder. Gives the file, and npm's account of it. */
function pack(folder) {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const text = execFileSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [account] = JSON.parse(text);
  return { file: path.join(folder, account.filename), ...account };
}

async function main() {
  await build({ ifNeeded: true });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'everstep-package-'));
  try {
    const packed = pack(folder);
    execFileSync('tar', ['-xzf', packed.file, '-C', folder]);
    const problems = [
      ...toolProblems('publint', ['run', packed.file, '--strict']),
      ...toolProblems('attw', [packed.file, '--no-definitely-typed', '--format', 'ascii']),
      ...sizeProblems(packed),
      ...fileProblems(path.join(folder, 'package'), packed.files),
    ];
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function toolProblems(tool, args) {
  try {
    execFileSync(path.join(ROOT, 'node_modules', '.bin', tool), args, { encoding: 'utf8', stdio: 'pipe' });
    return [];
  } catch (error) {
    return [`${tool}: ${error.stdout ?? ''}${error.stderr ?? error.message}`];
  }
}

function sizeProblems(packed) {
  return Object.entries(LIMITS)
    .filter(([name, limit]) => packed[name] > limit)
    .map(([name, limit]) => `The package's ${name} is ${packed[name]}, more than ${limit}.`);
}

function fileProblems(folder, files) {
  return files.flatMap(({ path: name }) => {
    if (name.endsWith('.map')) return [`${name}: a source map without its source.`];
    const text = fs.readFileSync(path.join(folder, name), 'latin1');
    const problems = name.endsWith('.md') ? linkProblems(folder, name, text) : [];
    return plainText(name, text).includes(ROOT) ? [...problems, `${name} names ${ROOT}.`] : problems;
  });
}

/** With the source map of the workflow bundle, which is one long word. */
function plainText(name, text) {
  const encoded = name.endsWith('workflow-bundle.js') ? text.slice(text.lastIndexOf('base64,') + 7) : '';
  return text + Buffer.from(encoded, 'base64').toString('latin1');
}

function linkProblems(folder, name, text) {
  return [...text.matchAll(LINK)]
    .filter(([, target]) => !fs.existsSync(path.join(folder, path.dirname(name), target)))
    .map(([, target]) => `${name}: ${target} is not in the package.`);
}

module.exports = { pack };

if (require.main === module) {
  main().catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
