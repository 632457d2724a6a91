/**
 * Installs the package in an empty folder, as somebody does who has neither the clone nor its development packages, and
 * uses it there: the commands, the program of README under each of TypeScript's module resolutions, ES modules, CommonJS.
 *
 *     npm run try:package
 */
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { build } = require('./build');
const { pack } = require('./check-package');

const ROOT = path.resolve(__dirname, '..');
const COMPILER = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const RESOLUTIONS = { node16: 'node16', nodenext: 'nodenext', bundler: 'esnext' };
const DEMO_STEPS = 60;
const STEPS = 20;

async function main() {
  await build({ ifNeeded: true });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'everstep try '));
  try {
    const place = new Place(folder);
    await install(place);
    await loadBothWays(place);
    await compileEachWay(place);
    await place.run('npx', ['everstep', 'demo', '--steps', String(DEMO_STEPS)]);
    await useStack(place);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** One empty folder, and an environment in which nothing of the clone is. */
class Place {
  constructor(folder) {
    this.folder = folder;
    const kept = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|everstep_|temporal_|node_)/i.test(name),
    );
    this.environment = Object.fromEntries(kept);
    this.environment.PATH = process.env.PATH.split(path.delimiter)
      .filter((entry) => !entry.includes('node_modules'))
      .join(path.delimiter);
  }

  write(name, text) {
    fs.writeFileSync(path.join(this.folder, name), text);
  }

  start(command, args) {
    const child = spawn(command, args, {
      cwd: this.folder,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const program = { child, text: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => (program.text += chunk));
    }
    program.ended = new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
    return program;
  }

  async run(command, args) {
    const begin = performance.now();
    const program = this.start(command, args);
    const code = await program.ended;
    const seconds = ((performance.now() - begin) / 1000).toFixed(0);
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${program.text}`);
    process.stdout.write(
      `${[command, ...args].map((word) => path.basename(word)).join(' ')} (${seconds} s)\n`,
    );
    return program.text;
  }
}

async function install(place) {
  place.write('package.json', JSON.stringify({ name: 'mine', private: true, type: 'module' }));
  const { file } = pack(place.folder);
  const text = await place.run('npm', ['install', '--no-audit', '--no-fund', `./${path.basename(file)}`]);
  const warnings = text.match(/^npm warn (EBADENGINE|deprecated|ERESOLVE).*/gm) ?? [];
  if (warnings.length > 0) throw new Error(`The install warns:\n${warnings.join('\n')}`);
}

async function loadBothWays(place) {
  place.write('load.mjs', "import { Everstep } from 'everstep';\nEverstep.connect.call;\n");
  place.write('load.cjs', "require('everstep').Everstep.connect.call;\n");
  await place.run('node', ['load.mjs']);
  await place.run('node', ['load.cjs']);
}

/** Once with the libraries' own declarations, as somebody has it who never heard of `skipLibCheck`; that takes four times as long. */
async function compileEachWay(place) {
  const readme = fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  const [, section] = readme.split('## From your own folder and code\n');
  const [, program] = /^```ts\n([\s\S]*?)^```$/m.exec(section);
  place.write('mine.ts', program);
  for (const [moduleResolution, module] of Object.entries(RESOLUTIONS)) {
    const compilerOptions = {
      strict: true,
      target: 'es2022',
      noEmit: true,
      module,
      moduleResolution,
      skipLibCheck: module !== 'nodenext',
    };
    const name = `tsconfig.${moduleResolution}.json`;
    place.write(name, JSON.stringify({ compilerOptions, files: ['mine.ts'] }));
    await place.run(process.execPath, [COMPILER, '-p', name]);
  }
}

async function useStack(place) {
  const rows = Array.from({ length: 100 }, (_, index) => {
    const [left, right] = [Math.floor(index / 10), index % 10];
    const messages = [
      { role: 'user', content: `${left}+${right}=` },
      { role: 'assistant', content: String(left + right) },
    ];
    return `${JSON.stringify({ messages })}\n`;
  });
  place.write('my-data.jsonl', rows.join(''));
  const stack = place.start('node', ['node_modules/.bin/everstep', 'dev', '--headless']);
  try {
    await untilReady(stack);
    const config = 'node_modules/everstep/configs/sft-arithmetic.yaml';
    await place.run('npx', ['everstep', 'train', config, '--run', 'mine', '--set', `steps=${STEPS}`]);
    await place.run('npx', [
      'everstep',
      'eval',
      'arithmetic',
      '--checkpoint',
      'mine',
      '--max-examples',
      '20',
    ]);
    const text = await place.run('npx', ['jiti', 'mine.ts']);
    if (!/^completed \S+$/m.test(text)) throw new Error(`README's program says:\n${text}`);
  } finally {
    stack.child.kill('SIGTERM');
    await stack.ended;
  }
}

async function untilReady(stack) {
  while (!/^Ready/m.test(stack.text)) {
    if (stack.child.exitCode !== null) throw new Error(`everstep dev ended:\n${stack.text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
