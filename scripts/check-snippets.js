/**
 * Compiles every `ts` example of the documents as somebody would who installed the package: strict, and with the types of
 * libraries checked too. What an example uses and does not make is declared in GIVEN.
 */
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { build } = require('./build');

const ROOT = path.resolve(__dirname, '..');
const SNIPPET = /^```ts\n([\s\S]*?)^```$/gm;
/** Its examples follow each other; they are compiled as one. */
const CONTINUED = new Set(['docs/library.md']);
const GIVEN = {
  everstep: "import('everstep').Everstep",
  address: 'string',
  namespace: 'string',
  store: 'string',
  dataFolder: 'string',
  site: "import('everstep').KindDependencies",
  signal: 'AbortSignal',
};
/** Packages that an example imports, beside ours and zod. */
const PACKAGES = {
  'my-sandbox': `import type { Sandbox } from 'everstep';
export declare function openMine(): Promise<{
  run: Sandbox['exec']; write: Sandbox['writeFile']; read: Sandbox['readFile']; end: Sandbox['close'];
}>;
`,
};
const IMPORT = "import { Everstep } from 'everstep';";
const OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  strict: true,
  skipLibCheck: false,
  noEmit: true,
  types: ['node'],
};

async function main() {
  await build({ ifNeeded: true });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'everstep-snippets-'));
  try {
    const places = write(folder);
    const problems = compile(folder);
    for (const line of problems) process.stdout.write(`${placeOf(line, places)}\n`);
    if (problems.length > 0) process.exitCode = 1;
    else process.stdout.write(`${places.size} examples compile.\n`);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** A file for each example; which document and line it is of. */
function write(folder) {
  fs.mkdirSync(path.join(folder, 'node_modules'));
  for (const name of ['@types', 'zod']) link(folder, name, path.join(ROOT, 'node_modules', name));
  link(folder, 'everstep', ROOT);
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const config = { compilerOptions: OPTIONS, include: ['*.ts'] };
  fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
  for (const [name, text] of Object.entries(PACKAGES)) {
    fs.mkdirSync(path.join(folder, 'node_modules', name));
    fs.writeFileSync(path.join(folder, 'node_modules', name, 'index.d.ts'), text);
    fs.writeFileSync(path.join(folder, 'node_modules', name, 'package.json'), '{"types":"index.d.ts"}');
  }
  const examples = documents().flatMap(examplesOf);
  return new Map(
    examples.map(({ file, line, text }, index) => {
      const name = `example-${index}.ts`;
      const head = `${declarations(text)} export {};`;
      fs.writeFileSync(path.join(folder, name), `${head}\n${text}`);
      return [name, { file, line }];
    }),
  );
}

function link(folder, name, target) {
  fs.symlinkSync(target, path.join(folder, 'node_modules', name));
}

function documents() {
  const docs = fs.readdirSync(path.join(ROOT, 'docs')).map((name) => `docs/${name}`);
  return ['README.md', 'CONTRIBUTING.md', ...docs].filter((name) => name.endsWith('.md'));
}

function examplesOf(file) {
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8');
  const found = [...text.matchAll(SNIPPET)].map((match) => ({
    file,
    line: text.slice(0, match.index).split('\n').length,
    text: match[1],
  }));
  if (!CONTINUED.has(file) || found.length === 0) return found;
  // Blank lines where the prose stands, so that lines stay those of the document.
  const [first] = found;
  let whole = '';
  for (const { line, text: example } of found) {
    whole += '\n'.repeat(line - first.line - (whole.match(/\n/g) ?? []).length) + example;
  }
  return [{ file, line: first.line, text: whole }];
}

/** Of what the example uses and does not make. On one line, so that the others keep their numbers. */
function declarations(text) {
  return Object.entries(GIVEN)
    .filter(([name]) => new RegExp(String.raw`(?<![.\w'])${name}\b(?!:)`).test(text))
    .filter(([name]) => !new RegExp(String.raw`(const|let|function|import) (\{[^}]*)?\b${name}\b`).test(text))
    .map(([name, type]) => `declare const ${name}: ${type};`)
    .concat(/\bEverstep\b/.test(text) && !/import .*\bEverstep\b/.test(text) ? IMPORT : [])
    .join(' ');
}

function compile(folder) {
  const compiler = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    execFileSync(process.execPath, [compiler, '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return [];
  } catch (error) {
    return `${error.stdout}${error.stderr}`.trim().split('\n');
  }
}

/** A message of the compiler with the document's name and line. */
function placeOf(message, places) {
  return message.replace(/^(example-\d+\.ts)\((\d+),(\d+)\)/, (whole, name, line, column) => {
    const place = places.get(name);
    return place ? `${place.file}:${place.line + Number(line) - 1}:${column}` : whole;
  });
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
