import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { sandboxKinds } from '../../src/sandboxes/choose-kind';
import { nameOfHolder, ownHolder } from '../../src/sandboxes/leases/lease-holder';
import { Leases } from '../../src/sandboxes/leases/leases';
import { processesNaming } from '../../src/sandboxes/leases/processes-naming';
import { DomainError } from '../../src/core/errors';
import type { Sandbox, SandboxKind } from '../../src/sandboxes/sandbox';
import { SandboxPool } from '../../src/sandboxes/sandbox-pool';

const KEY = '0123456789abcdef01234567';
const NAMED = `lease-${KEY}`;

let root: string;
let leases: Leases;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sandbox-leases-'));
  chmodSync(root, 0o711);
  leases = new Leases(join(root, 'leases'));
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

async function isAvailable(name: string): Promise<boolean> {
  const kind = sandboxKinds(leases).find((each) => each.name === name);
  return (await kind?.availability())?.isAvailable === true;
}

/** After it has said so many lines, while it runs programs, which are returned. */
async function killAfter(child: ChildProcess, lineCount: number): Promise<readonly number[]> {
  if (child.stdout === null) throw new Error('no output to read');
  let count = 0;
  createInterface({ input: child.stdout }).on('line', () => {
    count += 1;
  });
  let programs: readonly number[] = [];
  await until(() => count >= lineCount && (programs = descendantsOf(child.pid ?? 0)).length > 0);
  child.kill('SIGKILL');
  await once(child, 'close');
  return programs;
}

/** A program in the middle of starting or computing sees only afterwards that its worker is gone. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}

test.each([
  ['bubblewrap', [5, 12]],
  ['pyodide', [1, 3]],
])(
  'workers with %s sandboxes killed in the middle of many executions leave nothing',
  async (name, moments) => {
    if (!(await isAvailable(name))) return;
    const left = new Set<string>();
    const programs: number[] = [];

    // The second one finds what the first one left.
    for (const done of moments) {
      programs.push(...(await killAfter(startWorker(name), done)));
      for (const lease of await leases.list()) left.add(lease);
    }
    // A sandbox that was killed while it began waits for its first half until somebody reaps it.
    await leases.reap();
    await until(() => programs.every((pid) => !isRunning(pid)));

    expect(left.size).toBeGreaterThan(0);
    expect(readdirSync(leases.root)).toEqual([]);
    await until(() => [...left].every((lease) => processesNaming(lease).length === 0));
  },
);

function startWorker(kind: string): ChildProcess {
  const program = join(__dirname, 'sandbox-program.js');
  return spawn(process.execPath, [program, leases.root, kind], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Children of a process and theirs, as far as this machine shows them. */
function descendantsOf(pid: number): number[] {
  const children = childrenOf(pid);
  return [...children, ...children.flatMap(descendantsOf)];
}

function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const lists = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'));
    return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
  } catch {
    return [];
  }
}

/** One that has ended and is waited for by nobody runs no more. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test('a lease of a living holder is left alone, and released by it', async () => {
  const lease = await leases.open();
  const other = new Leases(leases.root);

  expect(await other.reap()).toBe(0);
  expect(await other.list()).toEqual([lease.id]);
  await lease.release();
  expect(await other.list()).toEqual([]);
});

test('a holder that nobody can ask is dead when it has been silent', async () => {
  mkdirSync(join(leases.root, NAMED), { recursive: true });
  const file = join(leases.root, NAMED, 'lease.json');
  writeFileSync(file, JSON.stringify({ pid: 1, started: '1', place: 'another machine' }));

  expect(await leases.reap()).toBe(0);
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(file, longAgo, longAgo);
  expect(await leases.reap()).toBe(1);
  expect(await leases.list()).toEqual([]);
});

test('nothing is removed but what has the name of a lease', async () => {
  for (const name of ['lease-', 'lease-contracts', 'making-x', NAMED])
    mkdirSync(join(leases.root, name), { recursive: true });
  const bystander = spawn('/bin/sh', ['-c', 'read line', 'lease-contracts']);

  expect(await leases.reap()).toBe(1);

  expect(readdirSync(leases.root).sort()).toEqual(['lease-', 'lease-contracts', 'making-x']);
  expect(processesNaming('lease-contracts')).toContain(bystander.pid);
  bystander.stdin.end();
  await once(bystander, 'close');
});

test.each([
  [
    'a link',
    () => {
      mkdirSync(join(root, 'mine', NAMED), { recursive: true });
      symlinkSync(join(root, 'mine'), leases.root);
    },
  ],
  [
    'open to others',
    () => {
      mkdirSync(join(leases.root, NAMED), { recursive: true });
      chmodSync(leases.root, 0o777);
    },
  ],
  [
    "somebody else's",
    () => {
      mkdirSync(join(leases.root, NAMED), { recursive: true });
      // Only root can give it away; for others it is tried as open to all.
      if (process.getuid?.() === 0) chownSync(leases.root, 65534, 65534);
      else chmodSync(leases.root, 0o777);
    },
  ],
])('a folder of leases that is %s is neither used nor swept', async (_what, make) => {
  make();

  expect(await leases.reap()).toBe(0);
  await expect(leases.open()).rejects.toThrow('set TMPDIR to a folder of your own');

  expect(readdirSync(leases.root)).toEqual([NAMED]);
});

test('a lease whose holder was killed while it put it together is removed, and of a living one it is not', async () => {
  const living = ownHolder();
  const killed = { ...living, started: '1' };
  for (const holder of [living, killed]) {
    mkdirSync(join(leases.root, `making-${KEY}.${nameOfHolder(holder)}`), { recursive: true });
  }

  await leases.reap();

  expect(readdirSync(leases.root)).toEqual([`making-${KEY}.${nameOfHolder(living)}`]);
});

test('work whose sandbox is lost is done again in another one, and in the end told as an error', async () => {
  let openCount = 0;
  const kind: SandboxKind = {
    name: 'fragile',
    isSlowToOpen: false,
    availability: () => Promise.resolve({ isAvailable: true, found: 'here' }),
    open() {
      openCount += 1;
      const number = openCount;
      return Promise.resolve(fragileSandbox(() => number <= 2));
    },
  };
  const pool = new SandboxPool({ kind, leases, size: 1 });

  const result = await pool.use((sandbox) => sandbox.exec(['program']));
  const failure = pool.use(() =>
    Promise.reject(new DomainError('sandbox-lost', 'gone', { retryable: true })),
  );

  expect(result.exitCode).toBe(0);
  expect(openCount).toBe(3);
  await expect(failure).rejects.toMatchObject({ code: 'sandbox-lost', retryable: true });
  await pool.close();
});

test('a place that can be made as new is used on, and one that cannot is closed and replaced', async () => {
  let openCount = 0;
  let closeCount = 0;
  let canRenew = true;
  const open = (): Promise<Sandbox> => {
    openCount += 1;
    return Promise.resolve(renewable());
  };
  const renewable = (): Sandbox => ({
    ...fragileSandbox(() => false),
    renew: () => Promise.resolve(canRenew ? renewable() : null),
    close() {
      closeCount += 1;
      return Promise.resolve();
    },
  });
  const kind: SandboxKind = {
    name: 'renewable',
    isSlowToOpen: true,
    availability: () => Promise.resolve({ isAvailable: true, found: 'here' }),
    open,
  };
  const pool = new SandboxPool({ kind, leases, size: 2 });
  const use = () => pool.use((sandbox) => sandbox.exec(['program']));

  await Promise.all([use(), use(), use(), use()]);
  await use();
  const openedForFive = openCount;
  canRenew = false;
  await use();
  await use();
  await pool.close();

  expect(openedForFive).toBe(2);
  expect(openCount).toBeGreaterThan(2);
  expect(closeCount).toBe(openCount);
});

test('a sandbox whose process somebody kills is lost, not a program that failed', async () => {
  if (!(await isAvailable('bubblewrap'))) return;
  const kind = sandboxKinds(leases).find(({ name }) => name === 'bubblewrap');
  const sandbox = await kind?.open();
  const running = sandbox?.exec(['python3', '-c', 'import time; time.sleep(86400)']);
  const [lease = 'none'] = await leases.list();
  await until(() => processesNaming(lease).length > 0);
  for (const pid of processesNaming(lease)) process.kill(pid, 'SIGKILL');

  await expect(running).rejects.toMatchObject({ code: 'sandbox-lost', retryable: true });
  await sandbox?.close();
});

test('a program that is called off in its first moments ends then, and leaves nothing', async () => {
  if (!(await isAvailable('bubblewrap'))) return;
  const kind = sandboxKinds(leases).find(({ name }) => name === 'bubblewrap');
  const sandbox = await kind?.open();
  const lease = (await leases.list())[0] ?? 'none';

  for (let milliseconds = 0; milliseconds < 15; milliseconds += 2) {
    const callOff = new AbortController();
    const command = ['python3', '-c', 'while True: pass'];
    const running = sandbox?.exec(command, { signal: callOff.signal, timeoutMs: 600_000 });
    setTimeout(() => {
      callOff.abort(new Error('called off'));
    }, milliseconds);
    await expect(running).rejects.toThrow('called off');
  }

  await until(() => processesNaming(lease).length === 0);
  await sandbox?.close();
});

test('no more sandboxes are in use than the pool has places', async () => {
  let inUse = 0;
  let most = 0;
  const kind: SandboxKind = {
    name: 'counted',
    isSlowToOpen: false,
    availability: () => Promise.resolve({ isAvailable: true, found: 'here' }),
    open: () => Promise.resolve(fragileSandbox(() => false)),
  };
  const pool = new SandboxPool({ kind, leases, size: 3 });

  await Promise.all(
    Array.from({ length: 20 }, () =>
      pool.use(async () => {
        inUse += 1;
        most = Math.max(most, inUse);
        await new Promise((resolve) => setTimeout(resolve, 2));
        inUse -= 1;
      }),
    ),
  );

  expect(most).toBe(3);
  await pool.close();
});

function fragileSandbox(isLost: () => boolean): Sandbox {
  return {
    kind: 'fragile',
    exec() {
      if (isLost()) return Promise.reject(new DomainError('sandbox-lost', 'gone', { retryable: true }));
      return Promise.resolve({
        exitCode: 0,
        stdout: '',
        stderr: '',
        isStdoutCut: false,
        isStderrCut: false,
        limit: null,
        seconds: 0,
      });
    },
    writeFile: () => Promise.resolve(),
    readFile: () => Promise.resolve(new Uint8Array()),
    close: () => Promise.resolve(),
  };
}
