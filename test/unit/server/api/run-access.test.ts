import { createServer } from 'node:http2';
import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { RunAccess } from '../../../../src/server/api/run-access';
import type { RunStore } from '../../../../src/stores/run-store';

/** Answers every gRPC call with an empty message. */
class AnsweringServer {
  private readonly sessions = new Set<ServerHttp2Session>();
  private readonly server: Http2Server = createServer()
    .on('session', (session) => this.sessions.add(session))
    .on('stream', (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        stream.sendTrailers({ 'grpc-status': '0' });
      });
      stream.end(Buffer.alloc(5));
    });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const session of this.sessions) session.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

test('the first answer after Temporal died does not say that it is reachable', async () => {
  const temporal = new AnsweringServer();
  const address = await temporal.listen();
  const access = new RunAccess({
    records: {} as RunStore,
    findTemporal: () => ({ address, namespace: 'everstep' }),
  });
  // A busy machine may take longer than one look does.
  let before = await access.current();
  while (!before.temporal.isReachable) before = await access.current();

  await temporal.stop();
  const after = await access.current();
  await access.close();

  expect(before.temporal).toEqual({ isReachable: true, note: null });
  expect(after.temporal).toMatchObject({ isReachable: false });
  expect(after.temporal.note).toContain(`${address} (namespace everstep) does not answer`);
});
