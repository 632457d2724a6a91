/**
 * Compiles src/ to JavaScript with swc, file by file and without a look at types, for whoever wants to run a checkout: seconds where
 * tsc takes a minute. What is published, with declarations, is tsc's (`scripts/build.js`).
 *
 *     node scripts/transpile.js --outDir FOLDER
 */
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { transform } = require('@swc/core');

const ROOT = path.resolve(__dirname, '..');
const SOURCES = path.join(ROOT, 'src');
/** As tsconfig.json has it; `import()` stays, since some packages are ES modules alone. */
const OPTIONS = {
  swcrc: false,
  configFile: false,
  sourceMaps: true,
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  // The annotation names the exports, which a program of ES modules imports by name.
  module: { type: 'commonjs', ignoreDynamic: true, exportInteropAnnotation: true },
};

async function main() {
  const { values } = parseArgs({ options: { outDir: { type: 'string' } } });
  const names = fs
    .readdirSync(SOURCES, { recursive: true })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !isKernel(name));
  const results = await Promise.allSettled(names.map((name) => transpile(name, values.outDir)));
  const failed = results.filter(({ status }) => status === 'rejected');
  for (const { reason } of failed) process.stdout.write(`${reason.message ?? reason}\n`);
  if (failed.length > 0) process.exitCode = 1;
}

async function transpile(name, outDir) {
  const file = path.join(SOURCES, name);
  const target = path.join(outDir, name.replace(/\.ts$/, '.js'));
  const text = await fs.promises.readFile(file, 'utf8');
  const { code, map } = await transform(text, { ...OPTIONS, filename: file });
  const source = path.relative(path.dirname(target), file);
  await fs.promises.mkdir(path.dirname(target), { recursive: true });
  await fs.promises.writeFile(target, `${code}\n//# sourceMappingURL=${path.basename(target)}.map`);
  await fs.promises.writeFile(
    `${target}.map`,
    JSON.stringify({ ...JSON.parse(map), sources: [source], sourcesContent: undefined }),
  );
}

/** AssemblyScript, compiled by `build-kernels.mjs`. */
function isKernel(name) {
  return name.startsWith(path.join('engines', 'local', 'kernels') + path.sep);
}

main().catch((error) => {
  process.stdout.write(`${error.stack}\n`);
  process.exitCode = 1;
});
