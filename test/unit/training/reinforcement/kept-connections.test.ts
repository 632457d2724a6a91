import { KeptConnections } from '../../../../src/training/reinforcement/kept-connections';
import type { EngineConnection } from '../../../../src/training/engine-access';

class FakeEngine {
  opened = 0;
  closed = 0;

  readonly connect = async (): Promise<EngineConnection> => {
    this.opened += 1;
    const close = async () => {
      this.closed += 1;
    };
    // Only what keeps connections is under test: of a connection it closes the client and looks at nothing.
    return { url: '', client: { close } } as unknown as EngineConnection;
  };
}

test('uses one connection for all shards of a run', async () => {
  const engine = new FakeEngine();
  const connections = new KeptConnections();
  await Promise.all([0, 1].map(() => connections.use('r', engine.connect, async () => null)));
  await connections.use('r', engine.connect, async () => null);

  expect(engine).toMatchObject({ opened: 1, closed: 0 });
});

test('opens another after a failure, and closes the first when nobody uses it any more', async () => {
  const engine = new FakeEngine();
  const connections = new KeptConnections();
  let end: () => void = () => undefined;
  const other = connections.use('r', engine.connect, () => new Promise<void>((resolve) => (end = resolve)));
  const failing = connections.use('r', engine.connect, () => Promise.reject(new Error('lost')));
  await expect(failing).rejects.toThrow('lost');
  expect(engine).toMatchObject({ opened: 1, closed: 0 });

  await connections.use('r', engine.connect, async () => null);
  end();
  await other;

  expect(engine).toMatchObject({ opened: 2, closed: 1 });
});

test('tries again where no connection could be made', async () => {
  const engine = new FakeEngine();
  const connections = new KeptConnections();
  const refused = connections.use(
    'r',
    () => Promise.reject(new Error('refused')),
    async () => null,
  );
  await expect(refused).rejects.toThrow('refused');
  await connections.use('r', engine.connect, async () => null);

  expect(engine.opened).toBe(1);
});

test('closes the connection unused for longest when there are many runs', async () => {
  const engine = new FakeEngine();
  const connections = new KeptConnections();
  for (const run of ['a', 'b', 'c', 'd', 'e']) await connections.use(run, engine.connect, async () => null);
  await connections.use('b', engine.connect, async () => null);

  expect(engine).toMatchObject({ opened: 5, closed: 1 });
});
