import { Connection } from '@temporalio/client';
import { findFreePort } from '../../src/stack/free-port';
import type { Command } from './harness/program';
import { Place } from './harness/program';

/**
 * The services as they are delivered: processes started by the launcher, killed in every way a process can die. `dev` is told of
 * by commands.test.ts and survival.test.ts.
 */
const SIGNALS = [
  ['SIGTERM', 0],
  ['SIGINT', 130],
] as const;

let place: Place;

beforeAll(() => {
  place = new Place();
});

afterAll(() => place.remove());

describe('everstep temporal', () => {
  let port: number;
  let server: Promise<Command> | null = null;

  beforeAll(async () => {
    port = await findFreePort();
  });

  function running(): Promise<Command> {
    server ??= start();
    return server;
  }

  async function start(): Promise<Command> {
    const service = place.start('temporal', '--port', String(port), '--headless');
    await service.says(/ready at/);
    return service;
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const service = await running();
    server = null;
    service.child.kill(signal);
    return (await service.ended).code;
  }

  async function withConnection<Value>(use: (connection: Connection) => Promise<Value>): Promise<Value> {
    const connection = await Connection.connect({ address: `127.0.0.1:${port}` });
    try {
      return await use(connection);
    } finally {
      await connection.close();
    }
  }

  test('serves the namespace with the search attributes of runs when it says that it is ready', async () => {
    const service = await running();

    expect(service.stdout).toMatch(`127.0.0.1:${port}`);
    const attributes = await withConnection((connection) =>
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

  test('refuses a second server on the same database, naming the first', async () => {
    const first = await running();

    const second = await place.run('temporal', '--port', String(await findFreePort()), '--headless');

    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`Process ${first.child.pid ?? 0} runs a Temporal server`);
  });

  test('refuses a port that is in use', async () => {
    await running();
    const other = new Place();

    const second = await other.run('temporal', '--port', String(port), '--headless');

    await other.remove();
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`Port ${port} is in use`);
  });

  test.each(SIGNALS)(
    'a worker prints its task queues when it polls and ends on %s with %i',
    async (signal, code) => {
      await running();
      place.variables = { TEMPORAL_ADDRESS: `127.0.0.1:${port}` };
      const worker = place.start('worker', '--roles', 'workflows,sampling');
      place.variables = {};

      await worker.says(/everstep, everstep-preparation, everstep-sampling/);
      worker.child.kill(signal);

      expect((await worker.ended).code).toBe(code);
    },
  );

  test('takes its server with it when it is killed, and goes on at the same place and port', async () => {
    await running();
    await withConnection((connection) =>
      connection.workflowService.startWorkflowExecution({
        namespace: 'everstep',
        workflowId: 'survivor',
        workflowType: { name: 'anything' },
        taskQueue: { name: 'nobody' },
        requestId: 'once',
      }),
    );

    await end('SIGKILL');
    await running();

    const described = await withConnection((connection) =>
      connection.workflowService.describeWorkflowExecution({
        namespace: 'everstep',
        execution: { workflowId: 'survivor' },
      }),
    );
    expect(described.workflowExecutionInfo?.execution?.workflowId).toBe('survivor');
    expect(place.processes().filter(({ line }) => line.includes('start-dev'))).toHaveLength(1);
  });

  test.each(SIGNALS)('ends on %s with exit code %i and leaves no process', async (signal, code) => {
    await running();

    expect(await end(signal)).toBe(code);
    expect(place.processes()).toEqual([]);
  });
});

describe('everstep engine', () => {
  test.each(SIGNALS)(
    'answers at the address it prints and ends on %s with exit code %i',
    async (signal, code) => {
      const port = await findFreePort();
      const service = place.start('engine', '--port', String(port), '--threads', '1');

      await service.says(new RegExp(`http://127.0.0.1:${port}`));
      const health = await fetch(`http://127.0.0.1:${port}/api/v1/healthz`);
      service.child.kill(signal);

      expect(health.status).toBe(200);
      expect((await service.ended).code).toBe(code);
    },
  );
});

describe('everstep worker', () => {
  test('says that there is no server, and how to get one', async () => {
    const { code, stderr } = await place.run('worker');

    expect(code).toBe(1);
    // A path with a space in it is quoted.
    expect(stderr).toMatch(/start `.*everstep(?:\.js)?'? dev`/);
  });

  test('refuses a role that does not exist with exit code 2', async () => {
    const { code, stderr } = await place.run('worker', '--roles', 'cooking');

    expect(code).toBe(2);
    expect(stderr).toContain('There is no role "cooking"');
  });
});
