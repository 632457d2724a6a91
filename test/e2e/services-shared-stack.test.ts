import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { findStack } from '../../src/stack/stack-record';

/** What commands such as `train` rely on: a stack that is there while one of them lives, and never longer. */
const DIST = path.join(__dirname, '../../dist');
const CLIENT = `
  const { useStack } = require(${JSON.stringify(path.join(DIST, 'stack/use-stack.js'))});
  const { readEnvironment } = require(${JSON.stringify(path.join(DIST, 'config/environment.js'))});
  const onProgress = (line) => process.stderr.write(line + '\\n');
  useStack({ environment: readEnvironment({ dataDir: process.argv[1] }), purpose: 'test', onProgress }).then(
    (use) => {
      process.stdout.write(JSON.stringify(use.stack) + '\\n');
      process.stdin.resume().on('end', () => use.release());
    },
    (error) => {
      process.stderr.write(error.message + '\\n');
      process.exit(1);
    },
  );
`;

interface Client {
  readonly child: ChildProcess;
  /** Process number of the supervisor whose stack the client got. */
  readonly supervisor: Promise<number>;
  readonly ended: Promise<unknown>;
}

let folder: string;
let clients: Client[];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-shared-'));
  clients = [];
});

afterEach(async () => {
  for (const { child, ended } of clients) {
    child.kill('SIGKILL');
    await ended;
  }
  await until(() => processes().length === 0);
  rmSync(folder, { recursive: true, force: true });
});

function startClient(): Client {
  const child = spawn(process.execPath, ['-e', CLIENT, folder], {
    env: { ...process.env, EVERSTEP_NO_BUILD: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const supervisor = new Promise<number>((resolve, reject) => {
    child.stdout.setEncoding('utf8').once('data', (text: string) => {
      // eslint-disable-next-line @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-argument -- the record printed above
      resolve(JSON.parse(text).pid);
    });
    void ended.then(() => {
      reject(new Error('the client got no stack'));
    });
  });
  const client = { child, supervisor, ended };
  clients.push(client);
  return client;
}

/** Everything that works on the folder except the clients. */
function processes(): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8', maxBuffer: 1e7 }).split(
    '\n',
  );
  return lines.filter(
    (line) => line.includes(folder) && !/^\s*\d+ Z/.test(line) && !line.includes('useStack'),
  );
}

async function until(condition: () => boolean, limitMs = 20_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited in vain; running:\n${processes().join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('two commands that start at once share one stack, which stays until the second has ended', async () => {
  const [first, second] = [startClient(), startClient()];
  expect(await first.supervisor).toBe(await second.supervisor);

  first.child.stdin?.end();
  await first.ended;
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect(findStack(folder)?.pid).toBe(await second.supervisor);

  second.child.stdin?.end();
  await second.ended;
  await until(() => processes().length === 0, 8000);
  expect(readdirSync(path.join(folder, 'clients'))).toEqual([]);
});

test('kill -9 of the command leaves nothing behind after a few seconds', async () => {
  const client = startClient();
  await client.supervisor;

  client.child.kill('SIGKILL');

  await until(() => processes().length === 0, 8000);
});

test('a command that follows directly gets a stack, whether the last one is still there or just going', async () => {
  for (const pauseMs of [0, 900, 1300, 1700]) {
    const client = startClient();
    await client.supervisor;
    client.child.stdin?.end();
    await client.ended;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
});

test('a supervisor that is killed while it is needed is replaced at the same address', async () => {
  const client = startClient();
  const first = await client.supervisor;
  const address = findStack(folder)?.temporalAddress;

  process.kill(first, 'SIGKILL');
  await until(() => (findStack(folder)?.pid ?? first) !== first, 30_000);

  expect(findStack(folder)?.temporalAddress).toBe(address);
});
