/**
 * Tries everstep as a new user does: a fresh clone of HEAD in a fresh home without caches and without a Temporal CLI, in
 * which `npm ci` and `npm run demo` have to succeed. Prints what each part took, and removes everything. Run by hand.
 *
 *   --unprivileged   as the user `nobody`, where it is run as root
 *   --space          in a path with a space
 *   --tests          also `npm test`
 *   --tarball        from the packed tarball in an empty folder instead of in the clone
 */
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');

const ROOT = path.resolve(__dirname, '..');
const PASSED_ON = /^(LANG|LC_.*|TERM|TZ|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS)$/i;
const NPM_SETTINGS = ['registry', 'proxy', 'https-proxy', 'noproxy', 'cafile', 'strict-ssl'];
const GO_SETTINGS = [
  ...['GOPROXY', 'GOSUMDB', 'GOFLAGS', 'GOPRIVATE'],
  ...['GONOPROXY', 'GONOSUMDB', 'GOINSECURE', 'GOTOOLCHAIN'],
];

const { values: options } = parseArgs({
  options: {
    unprivileged: { type: 'boolean', default: false },
    space: { type: 'boolean', default: false },
    tests: { type: 'boolean', default: false },
    tarball: { type: 'boolean', default: false },
  },
});

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), options.space ? 'everstep cold ' : 'everstep-cold-'));
  try {
    await check(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 });
  }
}

async function check(folder) {
  const times = [];
  const env = freshVariables(folder);
  const user = options.unprivileged ? nobody() : {};
  const step = async (cwd, command, ...args) => {
    const begin = performance.now();
    process.stdout.write(`\n$ ${[command, ...args].join(' ')}\n`);
    await run({ command, args, cwd, env, ...user });
    const name = [path.basename(command), ...args].join(' ').replaceAll(folder, '…');
    times.push(`${((performance.now() - begin) / 1000).toFixed(0).padStart(5)} s  ${name}`);
  };
  const checkout = path.join(folder, 'checkout');
  // Hard links would give the objects of this checkout away with those of the clone.
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, checkout]);
  if (user.uid !== undefined) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, folder]);
  const begin = performance.now();
  try {
    await step(checkout, 'npm', 'ci');
    if (options.tarball) await tryTarball({ folder, checkout, env, step });
    else await step(checkout, 'npm', 'run', 'demo');
    process.stdout.write(
      `\nUp to the end of the demo: ${((performance.now() - begin) / 1000).toFixed(0)} s\n`,
    );
    if (options.tests) await step(checkout, 'npm', 'test');
  } finally {
    process.stdout.write(`\n${times.join('\n')}\n`);
  }
}

async function tryTarball({ folder, checkout, env, step }) {
  const [packed, empty] = [env.TMPDIR, path.join(folder, 'home', 'empty')];
  await step(checkout, 'npm', 'pack', '--pack-destination', packed);
  const tarball = fs.readdirSync(packed).find((name) => name.endsWith('.tgz'));
  await step(folder, 'mkdir', empty);
  await step(empty, 'npm', 'install', path.join(packed, tarball));
  await step(empty, 'npx', 'everstep', 'demo');
}

/** Nothing of whoever runs this but the way to Node, Go and the registries. */
function freshVariables(folder) {
  const inside = (name) => {
    const place = path.join(folder, name);
    fs.mkdirSync(place, { recursive: true });
    return place;
  };
  const home = inside('home');
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name))),
    ...npmSettings(),
    ...goSettings(),
    PATH: pathWithoutCli(inside('path')),
    HOME: home,
    TMPDIR: inside('tmp'),
    XDG_CACHE_HOME: path.join(home, '.cache'),
    GOPATH: path.join(home, 'go'),
    GOMODCACHE: path.join(home, 'go', 'pkg', 'mod'),
    GOCACHE: path.join(home, '.cache', 'go-build'),
    npm_config_cache: path.join(home, '.npm'),
  };
}

function npmSettings() {
  const settings = NPM_SETTINGS.map((name) => {
    const value = ask('npm', ['config', 'get', name]);
    return [`npm_config_${name.replaceAll('-', '_')}`, value];
  });
  return Object.fromEntries(settings.filter(([, value]) => !['', 'null', 'undefined'].includes(value)));
}

/** Without Go there must be the SDK's download. */
function goSettings() {
  const settings = GO_SETTINGS.map((name) => [name, ask('go', ['env', name])]).filter(([, value]) => value);
  const { GOFLAGS = '', ...others } = Object.fromEntries(settings);
  // A module cache that can be removed.
  return { ...others, GOFLAGS: `${GOFLAGS} -modcacherw`.trim() };
}

function ask(program, args) {
  try {
    return execFileSync(program, args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}

/** Folders that hold a Temporal CLI are replaced by links to all else that is in them. */
function pathWithoutCli(place) {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => fs.existsSync(folder));
  const shown = folders
    .filter((folder) => !folder.startsWith(path.join(ROOT, 'node_modules')))
    .map((folder, index) => {
      if (!fs.existsSync(path.join(folder, 'temporal'))) return folder;
      const links = path.join(place, String(index));
      fs.mkdirSync(links);
      for (const name of fs.readdirSync(folder)) {
        if (name !== 'temporal') fs.symlinkSync(path.join(folder, name), path.join(links, name));
      }
      return links;
    });
  return shown.join(path.delimiter);
}

function nobody() {
  if (process.getuid?.() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** In a process group of its own, none of which outlives this program. */
function run({ command, args, ...where }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...where, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
    const leave = (signal) => {
      process.exitCode = 130;
      end(child, signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, leave);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      for (const name of signals) process.removeListener(name, leave);
      if (code === 0) resolve();
      else reject(new Error(`${[command, ...args].join(' ')} ended with ${signal ?? `exit code ${code}`}`));
    });
  });
}

function end(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode ||= 1;
});
