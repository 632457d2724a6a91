import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { installFakeGo, withoutCli } from '../unit/stack/fake-go';
import type { FakeGo } from '../unit/stack/fake-go';

/** The launcher in a checkout where nothing is built yet, with a compiler and a Go toolchain that are held. */
const ROOT = path.resolve(__dirname, '../..');
const COPIED = [
  'bin',
  'package.json',
  ...['build.js', 'prepare.js', 'run-source.js', 'source-stamp.js'].map((name) => `scripts/${name}`),
  ...['config', 'core', 'stack', 'stores'].map((name) => `src/${name}`),
];
/** What commands leave in the checkout, and what tells the compiler how to go on. */
const MADE = ['dist', '.cache', 'compilations', 'finish', 'fail'];
const PROGRAM = `exports.main = async (argv) => process.stdout.write('ran ' + argv.slice(2).join(' ') + '\\n');\n`;
const COMPILER = `
const { appendFileSync, existsSync, mkdirSync, writeFileSync } = require('node:fs');
const root = process.cwd();
const out = process.argv[process.argv.indexOf('--outDir') + 1];
appendFileSync(root + '/compilations', process.pid + '\\n');
mkdirSync(out + '/cli', { recursive: true });
const look = () => {
  if (!existsSync(root + '/finish')) return setTimeout(look, 20);
  if (existsSync(root + '/fail')) process.exit(9);
  writeFileSync(out + '/cli/main.js', ${JSON.stringify(PROGRAM)});
};
look();
`;

interface Command {
  readonly child: ChildProcess;
  readonly exitCode: Promise<number | null>;
  output(): string;
}

let folder: string;
let go: FakeGo;
let commands: Command[];

beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep cold '));
  for (const name of COPIED) cpSync(path.join(ROOT, name), inCheckout(name), { recursive: true });
  writeFileSync(inCheckout('package.json'), '{"version":"1.2.3"}');
  mkdirSync(inCheckout('node_modules'));
  writeFileSync(inCheckout('scripts/transpile.js'), COMPILER);
  for (const name of readdirSync(path.join(ROOT, 'node_modules'))) {
    const place = inCheckout(`node_modules/${name}`);
    if (!existsSync(place)) symlinkSync(path.join(ROOT, 'node_modules', name), place);
  }
});

beforeEach(() => {
  commands = [];
  go = installFakeGo(folder);
});

afterEach(async () => {
  for (const { child, exitCode } of commands) {
    child.kill('SIGKILL');
    await exitCode;
  }
  await until(() => processes().length === 0);
  const made = [
    ...readdirSync(folder).filter((name) => name !== 'checkout'),
    ...MADE.map((name) => `checkout/${name}`),
  ];
  for (const name of made) rmSync(path.join(folder, name), { recursive: true, force: true });
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const inCheckout = (name: string): string => path.join(folder, 'checkout', name);
const inCache = (): string[] => listFiles(path.join(folder, 'cache/everstep/temporal-1.5.1'));
const compilations = (): number => listLines(inCheckout('compilations')).length;
const finishCompiling = (): void => {
  writeFileSync(inCheckout('finish'), '');
};

function listFiles(place: string): string[] {
  return existsSync(place) ? readdirSync(place) : [];
}

function listLines(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

function start(...args: string[]): Command {
  return launch(inCheckout('bin/everstep.js'), args, { EVERSTEP_NO_BUILD: '' });
}

function launch(launcher: string, args: readonly string[], variables: Record<string, string>): Command {
  const child = spawn(process.execPath, [launcher, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: `${go.folder}${path.delimiter}${withoutCli(process.env['PATH'] ?? '')}`,
      ...variables,
      EVERSTEP_TEMPORAL_CLI: '',
      HOME: folder,
      XDG_CACHE_HOME: path.join(folder, 'cache'),
      // The SDK's download must find nobody.
      HTTPS_PROXY: 'http://127.0.0.1:9',
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exitCode = new Promise<number | null>((resolve) => child.once('close', resolve));
  const command = { child, exitCode, output: () => output };
  commands.push(command);
  return command;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Everything that works in the folder. */
function processes(): string[] {
  const shown = execFileSync('ps', ['-eo', 'stat=,args='], { encoding: 'utf8', maxBuffer: 1e7 });
  return shown.split('\n').filter((line) => line.includes(folder) && !line.startsWith('Z'));
}

test('the CLI is built beside dist/, and the person sees both', async () => {
  const demo = start('demo');
  await until(() => compilations() === 1 && go.isBuilding());
  await until(() => /Building everstep.* · Building the Temporal CLI with Go/.test(demo.output()));
  finishCompiling();

  expect(await demo.exitCode).toBe(0);
  expect(demo.output()).toContain('ran demo');
});

test('two commands at once compile once, the second shows what the first is at, and no CLI is built for those that start no server', async () => {
  const first = start('results');
  await until(() => compilations() === 1);
  const second = start('runs');
  await until(() => /Waiting for process \d+.*: Building everstep.*: compiling/.test(second.output()));
  finishCompiling();

  expect(await Promise.all([first.exitCode, second.exitCode])).toEqual([0, 0]);
  expect(second.output()).toContain('ran runs');
  expect(compilations()).toBe(1);
  expect(go.calls()).toEqual([]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s leaves no process, nothing half and no lock', async (signal, exitCode) => {
  const demo = start('demo');
  await until(() => compilations() === 1 && go.isBuilding());

  demo.child.kill(signal);

  expect(await demo.exitCode).toBe(exitCode);
  await until(() => processes().length === 0);
  expect(existsSync(inCheckout('dist'))).toBe(false);
  expect(listFiles(inCheckout('.cache'))).toEqual([]);
  expect(inCache()).toEqual([]);
});

test('kill -9 leaves no process and holds nobody up, and what it left is removed', async () => {
  const killed = start('demo');
  await until(() => compilations() === 1 && go.isBuilding());
  killed.child.kill('SIGKILL');
  await until(() => processes().length === 0);
  expect(inCache()).toEqual([]);
  finishCompiling();

  const next = start('results');

  expect(await next.exitCode).toBe(0);
  expect(listFiles(inCheckout('.cache'))).toEqual([]);
});

test('a builder of the CLI that is killed holds nobody up, and what it left is removed', async () => {
  start('demo');
  await until(() => go.isBuilding());
  const [, pid = ''] = /"pid":(\d+)/.exec(readLock()) ?? [];
  process.kill(Number(pid), 'SIGKILL');
  const next = start('dev');
  await until(() => go.calls().length === 2);
  go.finish();
  await until(() => inCache().includes('temporal'));

  await until(() => inCache().length === 1);
  expect(next.child.exitCode).toBeNull();
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s to a command that waits for the CLI leaves nothing, also where everything else is built',
  async (signal) => {
    const launcher = path.join(ROOT, 'bin/everstep.js');
    const args = ['demo', '--data-dir', path.join(folder, 'data')];
    const demo = launch(launcher, args, { EVERSTEP_NO_BUILD: '1' });
    await until(() => go.isBuilding());

    demo.child.kill(signal);

    expect(await demo.exitCode).toBe(130);
    expect(demo.output()).toContain('Interrupted before a stack was ready');
    await until(() => processes().length === 0);
    expect(inCache()).toEqual([]);
  },
);

function readLock(): string {
  return readFileSync(path.join(folder, 'cache/everstep/temporal-1.5.1/fetch.lock'), 'utf8');
}

test('which version it is is told without compiling', async () => {
  const command = start('--version');

  expect(await command.exitCode).toBe(0);

  expect(command.output()).toBe('1.2.3\n');
  expect(compilations()).toBe(0);
});

test('a compiler that fails without a word is said to have done so', async () => {
  finishCompiling();
  writeFileSync(inCheckout('fail'), '');
  const command = start('results');

  expect(await command.exitCode).toBe(1);

  expect(command.output()).toContain('The compiler failed (exit code 9); it printed nothing');
  expect(listFiles(inCheckout('.cache'))).toEqual([]);
});
