/**
 * Fetches the Python packages of the mathematics graders into vendor/python, and refuses any file whose hash is not the one in
 * `src/evaluation/graders/math/math-process.ts`. To renew one, change name, version and hash there first.
 *
 *     node scripts/fetch-python-wheels.js        (needs python3 with pip)
 */
const { spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.resolve(__dirname, '..');
const SOURCE = path.join(ROOT, 'src', 'evaluation', 'graders', 'math', 'math-process.ts');
const FOLDER = path.join(ROOT, 'vendor', 'python');
const WHEEL = /wheel\(\s*'([^']+)',\s*'([^']+)',\s*'([0-9a-f]{64})',?\s*\)/g;

function main() {
  const wheels = [...fs.readFileSync(SOURCE, 'utf8').matchAll(WHEEL)];
  if (wheels.length === 0) throw new Error(`No wheels declared in ${SOURCE}.`);
  for (const [, name, version, sha256] of wheels) fetchWheel(name, version, sha256);
}

function fetchWheel(name, version, sha256) {
  const file = path.join(FOLDER, `${name.replaceAll('-', '_')}-${version}-py3-none-any.whl`);
  if (!fs.existsSync(file)) download(name, version);
  const found = createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  if (found !== sha256)
    throw new Error(`${file} has the hash ${found}, not ${sha256}. Delete it and find out why.`);
  process.stdout.write(`${path.relative(ROOT, file)} ${sha256}\n`);
}

function download(name, version) {
  const args = ['-m', 'pip', 'download', '--no-deps', '--only-binary', ':all:', '--dest', FOLDER];
  const { status } = spawnSync('python3', [...args, `${name}==${version}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`pip could not fetch ${name} ${version}.`);
}

main();
