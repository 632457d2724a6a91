import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { findFreePort } from '../../src/stack/free-port';
import { findStack } from '../../src/stack/stack-record';
import type { StackRecord } from '../../src/stack/stack-record';

/** The services as they are delivered: processes started by the launcher, killed in every way a process can die. */
const LAUNCHER = path.join(__dirname, '../../bin/everstep.js');

interface Service {
  readonly child: ChildProcess;
  readonly readyLine: Promise<string>;
  readonly exitCode: Promise<number | null>;
  output(): string;
}

let folder: string;
const services: Service[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep e2e '));
});

afterEach(async () => {
  for (const { child, exitCode } of services.splice(0)) {
    child.kill('SIGTERM');
    await exitCode;
  }
  await until(() => processesOn(folder).length === 0);
  rmSync(folder, { recursive: true, force: true });
});

function start(args: readonly string[], options: { temporalAddress?: string; place?: string } = {}): Service {
  const { temporalAddress = '', place = folder } = options;
  const child = spawn(process.execPath, [LAUNCHER, ...args, '--data-dir', place], {
    env: { ...process.env, TEMPORAL_ADDRESS: temporalAddress, EVERSTEP_NO_BUILD: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const readyLine = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      resolve(text);
    });
    child.once('close', () => {
      reject(new Error(`ended before it was ready:\n${output}`));
    });
  });
  readyLine.catch(() => undefined);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const exitCode = new Promise<number | null>((resolve) => child.once('close', resolve));
  const service = { child, readyLine, exitCode, output: () => output };
  services.push(service);
  return service;
}

async function startTemporal(port: number): Promise<Service> {
  const service = start(['temporal', '--port', String(port), '--headless']);
  await service.readyLine;
  return service;
}

/** Command lines of all processes that work on a folder. */
function processesOn(place: string): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8', maxBuffer: 1e7 }).split(
    '\n',
  );
  return lines.filter((line) => line.includes(place) && !/^\s*\d+ Z/.test(line));
}

async function until(condition: () => boolean, limitMs = 20_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited in vain; running:\n${processesOn(folder).join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function withConnection<Value>(
  address: string,
  use: (connection: Connection) => Promise<Value>,
): Promise<Value> {
  const connection = await Connection.connect({ address });
  try {
    return await use(connection);
  } finally {
    await connection.close();
  }
}

describe('everstep temporal', () => {
  test('serves the namespace with the search attributes of runs when it says that it is ready', async () => {
    const port = await findFreePort();

    const service = await startTemporal(port);

    expect(await service.readyLine).toMatch(`127.0.0.1:${port}`);
    const attributes = await withConnection(`127.0.0.1:${port}`, (connection) =>
      connection.operatorService.listSearchAttributes({ namespace: 'everstep' }),
    );
    expect(Object.keys(attributes.customAttributes)).toEqual(
      expect.arrayContaining([
        'EverstepKind',
        'EverstepRun',
        'EverstepModel',
        'EverstepStep',
        'EverstepStatus',
        'EverstepScore',
      ]),
    );
  });

  test.each([
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ] as const)('ends on %s with exit code %i and leaves no process', async (signal, code) => {
    const service = await startTemporal(await findFreePort());

    service.child.kill(signal);

    expect(await service.exitCode).toBe(code);
    expect(processesOn(folder)).toEqual([]);
  });

  test('takes its server with it when it is killed, and goes on at the same place and port', async () => {
    const port = await findFreePort();
    const first = await startTemporal(port);
    await withConnection(`127.0.0.1:${port}`, (connection) =>
      connection.workflowService.startWorkflowExecution({
        namespace: 'everstep',
        workflowId: 'survivor',
        workflowType: { name: 'anything' },
        taskQueue: { name: 'nobody' },
        requestId: 'once',
      }),
    );

    first.child.kill('SIGKILL');
    const second = await startTemporal(port);

    const described = await withConnection(`127.0.0.1:${port}`, (connection) =>
      connection.workflowService.describeWorkflowExecution({
        namespace: 'everstep',
        execution: { workflowId: 'survivor' },
      }),
    );
    expect(described.workflowExecutionInfo?.execution?.workflowId).toBe('survivor');
    expect(processesOn(folder).filter((line) => line.includes('start-dev'))).toHaveLength(1);
    second.child.kill('SIGKILL');
    await until(() => processesOn(folder).length === 0, 5000);
  });

  test('refuses a second server on the same database, naming the first', async () => {
    const first = await startTemporal(await findFreePort());

    const second = start(['temporal', '--port', String(await findFreePort()), '--headless']);

    expect(await second.exitCode).toBe(1);
    expect(second.output()).toContain(`Process ${first.child.pid ?? 0} runs a Temporal server`);
  });

  test('refuses a port that is in use', async () => {
    const port = await findFreePort();
    await startTemporal(port);
    const other = mkdtempSync(path.join(os.tmpdir(), 'everstep-other-'));

    const second = start(['temporal', '--port', String(port), '--headless'], { place: other });
    const code = await second.exitCode;

    rmSync(other, { recursive: true, force: true });
    expect(code).toBe(1);
    expect(second.output()).toContain(`Port ${port} is in use`);
  });
});

describe('everstep engine', () => {
  test.each([
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ] as const)('answers at the address it prints and ends on %s with exit code %i', async (signal, code) => {
    const port = await findFreePort();
    const service = start(['engine', '--port', String(port), '--threads', '1']);

    expect(await service.readyLine).toContain(`http://127.0.0.1:${port}`);
    const health = await fetch(`http://127.0.0.1:${port}/api/v1/healthz`);
    service.child.kill(signal);

    expect(health.status).toBe(200);
    expect(await service.exitCode).toBe(code);
  });
});

describe('everstep worker', () => {
  test.each([
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ] as const)(
    'prints its task queues when it polls and ends on %s with exit code %i',
    async (signal, code) => {
      const port = await findFreePort();
      await startTemporal(port);
      const service = start(['worker', '--roles', 'workflows,sampling'], {
        temporalAddress: `127.0.0.1:${port}`,
      });

      expect(await service.readyLine).toMatch(/everstep, everstep-sampling/);
      service.child.kill(signal);

      expect(await service.exitCode).toBe(code);
    },
  );

  test('says that there is no server, and how to get one', async () => {
    const service = start(['worker']);

    expect(await service.exitCode).toBe(1);
    expect(service.output()).toContain('everstep dev');
  });

  test('refuses a role that does not exist with exit code 2', async () => {
    const service = start(['worker', '--roles', 'cooking']);

    expect(await service.exitCode).toBe(2);
    expect(service.output()).toContain('There is no role "cooking"');
  });
});

describe('everstep dev', () => {
  async function startDev(): Promise<{ service: Service; record: StackRecord }> {
    const service = start(['dev', '--headless', '--threads', '1']);
    await service.readyLine;
    return { service, record: requireStack() };
  }

  function requireStack(): StackRecord {
    const record = findStack(folder);
    if (record === null) throw new Error('no stack on record');
    return record;
  }

  test('brings each part back that is killed, at the same address', async () => {
    const { record } = await startDev();

    for (const { name, pid } of record.children) {
      process.kill(pid, 'SIGKILL');
      await until(() => requireStack().children.some((child) => child.name === name && child.pid !== pid));
    }
    await until(() => findStack(folder)?.children.length === record.children.length);

    expect(requireStack()).toMatchObject({
      temporalAddress: record.temporalAddress,
      engineUrl: record.engineUrl,
    });
    let answered = false;
    await until(() => {
      void withConnection(record.temporalAddress, async (connection) =>
        connection.workflowService.getSystemInfo({}),
      ).then(
        () => (answered = true),
        () => undefined,
      );
      return answered;
    });
  });

  test('brings the server itself back when only that is killed', async () => {
    const { record } = await startDev();
    const serverPid = (): number =>
      Number(
        processesOn(folder)
          .find((line) => line.includes('start-dev'))
          ?.trim()
          .split(' ')[0] ?? 0,
      );
    const first = serverPid();

    process.kill(first, 'SIGKILL');

    await until(() => serverPid() !== 0 && serverPid() !== first);
    expect(requireStack().temporalAddress).toBe(record.temporalAddress);
  });

  test('leaves nothing running when its supervisor is killed, and starts again on the same folder', async () => {
    const { service, record } = await startDev();

    service.child.kill('SIGKILL');
    await until(() => processesOn(folder).length === 0, 10_000);
    const again = await startDev();

    expect(again.record).toMatchObject({
      temporalAddress: record.temporalAddress,
      engineUrl: record.engineUrl,
    });
  });

  test('can be started at once after its supervisor was killed', async () => {
    const { service } = await startDev();
    service.child.kill('SIGKILL');

    const again = await startDev();

    expect(again.record.children.map(({ name }) => name)).toEqual([
      'temporal',
      'engine',
      'worker',
      'worker-evaluations',
    ]);
  });

  test('says that it is already running', async () => {
    const { service } = await startDev();

    const second = start(['dev']);

    expect(await second.exitCode).toBe(1);
    expect(second.output()).toMatch(new RegExp(`already running.*process ${service.child.pid ?? 0}`));
  });

  test.each([
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ] as const)('ends on %s with exit code %i and leaves nothing', async (signal, code) => {
    const { service } = await startDev();

    service.child.kill(signal);

    expect(await service.exitCode).toBe(code);
    expect(processesOn(folder)).toEqual([]);
    expect(findStack(folder)).toBeNull();
  });

  test('writes logs as JSON lines, one file a service', async () => {
    await startDev();

    const lines = readFileSync(path.join(folder, 'logs/temporal.log'), 'utf8').split('\n');

    expect(lines.some((line) => line.startsWith('{') && 'service' in JSON.parse(line))).toBe(true);
  });
});
