import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hubFetch } from '../../../src/hub/hub-fetch';

const TOKEN = 'hf_made_up';

test('only the hub itself gets its token', async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = hubFetch({ token: TOKEN, hubUrl: `http://127.0.0.1:${port}` });
  const headers = { Authorization: `Bearer ${TOKEN}` };
  try {
    await ask(`http://127.0.0.1:${port}/api`, { headers });
    await ask(`http://localhost:${port}/api`, { headers });
    await ask(new Request(`http://localhost:${port}/api`, { headers }));
    await ask(`http://localhost:${port}/api`, { headers: { Authorization: 'Bearer of-a-store' } });
  } finally {
    server.close();
  }

  expect(seen).toEqual([`Bearer ${TOKEN}`, undefined, undefined, 'Bearer of-a-store']);
});
