import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { findStack } from '../../src/stack/stack-record';
import { until } from './harness/program';

/** What commands such as `train` rely on: a stack that is there while one of them lives, and never longer. */
const DIST = path.join(__dirname, '../../dist');
const CLIENT = `
  const { useStack } = require(${JSON.stringify(path.join(DIST, 'stack/use-stack.js'))});
  const { readEnvironment } = require(${JSON.stringify(path.join(DIST, 'config/environment.js'))});
  const progress = { note: (line) => process.stderr.write(line + '\\n'), status: () => undefined };
  useStack({ environment: readEnvironment({ dataDir: process.argv[1] }), purpose: 'test', progress }).then(
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
const clients: Client[] = [];

beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-shared-'));
});

afterAll(async () => {
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
      // oxlint-disable-next-line typescript/no-unsafe-member-access, typescript/no-unsafe-argument -- the record printed above
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

function lastClient(): Client {
  const client = clients.at(-1);
  if (!client) throw new Error('no client yet');
  return client;
}

/** Ends a client as a command ends. */
async function end({ child, ended }: Client): Promise<void> {
  child.stdin?.end();
  await ended;
}

/** Waits until the supervisor has looked for clients so many times: what a dead one left goes with each look. */
async function looks(count: number): Promise<void> {
  const leftover = path.join(folder, 'clients', '999999999');
  for (let look = 0; look < count; look++) {
    writeFileSync(leftover, '');
    await until(() => !existsSync(leftover));
  }
}

test('two commands that start at once share one stack, which stays until the second has ended', async () => {
  const [first, second] = [startClient(), startClient()];
  expect(await first.supervisor).toBe(await second.supervisor);

  await end(first);
  await looks(5);

  expect(findStack(folder)?.pid).toBe(await second.supervisor);
  expect(readdirSync(path.join(folder, 'clients'))).toEqual([String(second.child.pid)]);
});

test('a command that follows directly gets a stack', async () => {
  await end(lastClient());

  await startClient().supervisor;
});

test('a command that comes while the stack is going gets another one', async () => {
  const going = await lastClient().supervisor;
  await end(lastClient());
  await until(() => findStack(folder) === null);

  expect(await startClient().supervisor).not.toBe(going);
});

test('a supervisor that is killed while it is needed is replaced at the same address', async () => {
  const first = await lastClient().supervisor;
  const address = findStack(folder)?.temporalAddress;

  process.kill(first, 'SIGKILL');
  await until(() => (findStack(folder)?.pid ?? first) !== first);

  expect(findStack(folder)?.temporalAddress).toBe(address);
});

test('kill -9 of the command leaves nothing behind', async () => {
  lastClient().child.kill('SIGKILL');

  await until(() => processes().length === 0);

  expect(readdirSync(path.join(folder, 'clients'))).toEqual([]);
});
