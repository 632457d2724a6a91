/** Says whether dist/ was made from the sources that are there: by size and time first, by content when those differ. */
const { createHash } = require('node:crypto');
const { readdirSync, readFileSync, statSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const INPUTS = [
  'src',
  'scripts/build.js',
  'scripts/transpile.js',
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
];

function listInputs(root) {
  const files = [];
  const walk = (relative) => {
    const stat = statSync(path.join(root, relative), { throwIfNoEntry: false });
    if (!stat) return;
    if (!stat.isDirectory()) {
      files.push({ relative, size: stat.size, time: stat.mtimeMs });
      return;
    }
    for (const name of readdirSync(path.join(root, relative)).sort()) walk(`${relative}/${name}`);
  };
  INPUTS.forEach(walk);
  return files;
}

function quickStamp(root) {
  const hash = createHash('sha256').update(process.version.split('.')[0]);
  for (const { relative, size, time } of listInputs(root)) hash.update(`${relative}\0${size}\0${time}\n`);
  return hash.digest('hex');
}

function contentStamp(root) {
  const hash = createHash('sha256').update(process.version.split('.')[0]);
  for (const { relative } of listInputs(root)) {
    hash
      .update(`${relative}\0`)
      .update(readFileSync(path.join(root, relative)))
      .update('\0');
  }
  return hash.digest('hex');
}

function readStamp(dist) {
  try {
    return JSON.parse(readFileSync(path.join(dist, '.stamp.json'), 'utf8'));
  } catch {
    return null;
  }
}

function writeStamp(dist, stamp) {
  writeFileSync(path.join(dist, '.stamp.json'), JSON.stringify(stamp));
}

function takeStamp(root) {
  return { quick: quickStamp(root), content: contentStamp(root) };
}

function isCurrent(root, dist) {
  const stamp = readStamp(dist);
  if (!stamp) return false;
  const quick = quickStamp(root);
  if (stamp.quick === quick) return true;
  if (stamp.content !== contentStamp(root)) return false;
  try {
    writeStamp(dist, { ...stamp, quick });
  } catch {
    // A folder that cannot be written only costs the slower comparison next time.
  }
  return true;
}

module.exports = { isCurrent, takeStamp, writeStamp };
