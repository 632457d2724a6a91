/** Loads TypeScript of src/ as it is, for what must work before dist/ is built. */
const path = require('node:path');

const ROOT = path.resolve(__dirname, '..');

/** @param {string} file below src */
async function loadSource(file) {
  // Nothing is kept on disk: a checkout may belong to somebody else.
  const jiti = require('jiti').createJiti(__filename, { fsCache: false });
  return jiti.import(path.join(ROOT, 'src', file));
}

/** Arguments for Node that run a file below src as a program. */
function sourceArguments(file) {
  const manifest = require.resolve('jiti/package.json', { paths: [ROOT] });
  return [path.join(path.dirname(manifest), require(manifest).bin.jiti), path.join(ROOT, 'src', file)];
}

module.exports = { loadSource, sourceArguments };
