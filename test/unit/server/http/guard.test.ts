import { request } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import path from 'node:path';
import pino from 'pino';
import { createApp } from '../../../../src/server/http/app';
import { ErrorBody } from '../../../../src/server/http/error-body';
import { chooseToken } from '../../../../src/server/serve-token';
import type { TestServer } from '../serving';
import { startServer } from '../serving';

const TOKEN = 'a-token-of-some-length-0123';
const servers: TestServer[] = [];

async function start(options?: Parameters<typeof startServer>[0]): Promise<TestServer> {
  const server = await startServer(options);
  servers.push(server);
  return server;
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** As a browser or anybody else may ask: `fetch` sets some headers itself. */
function ask(url: string, headers: Record<string, string> = {}, body?: string | Uint8Array): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      reply.on('end', () => {
        resolve({ status: reply.statusCode ?? 0, body: text });
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

test.each(['/%ff', `/api/v1/runs/${'x'.repeat(600)}`])(
  'an address that cannot be read is refused in the shape of every error: %.12s',
  async (address) => {
    const { url } = await start();

    const { status, body } = await ask(url + address);

    expect(status).toBeGreaterThanOrEqual(400);
    expect(ErrorBody.parse(JSON.parse(body)).error.message).toMatch(/address/);
  },
);

test('what is no HTTP is refused in the shape of every error', async () => {
  const { url } = await start();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const head = 'POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';

  socket.write(`${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
  const answer = await text(socket);

  const [status, body] = [answer.slice(0, 12), answer.slice(answer.indexOf('{'))];
  expect(status).toBe('HTTP/1.1 400');
  expect(ErrorBody.parse(JSON.parse(body)).error.message).toMatch(/^The request could not be read \(HPE_/);
});

test('a picture on a page of another site gets no answer', async () => {
  const { url } = await start();

  const { status } = await ask(`${url}/api/v1/runs`, {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'no-cors',
  });

  expect(status).toBe(403);
});

test('half a request holds its connection for no longer than its headers may take', async () => {
  const app = createApp({ token: TOKEN, hosts: [] }, pino({ level: 'silent' }), 100);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect(Number(new URL(app.listeningOrigin).port), '127.0.0.1');

  const answer = await new Promise<string>((resolve) => {
    socket.on('data', (bytes) => {
      resolve(bytes.toString());
    });
    socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n');
  });

  expect(answer).toContain('408');
  await app.close();
});

describe('on this machine, without a token', () => {
  test.each(['localhost', '127.0.0.1', '[::1]', 'LOCALHOST', '127.0.0.1:8080', 'box.local'])(
    'it may be called %s',
    async (host) => {
      const { url } = await start({ guard: { token: null, hosts: ['box.local'] } });

      expect((await ask(`${url}/api/v1/runs`, { host })).status).toBe(200);
    },
  );

  test.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80', 'x@127.0.0.1'])(
    'a name that somebody else pointed here is refused: %s',
    async (host) => {
      const { url } = await start();

      const { status, body } = await ask(`${url}/api/v1/runs`, { host });

      expect([400, 403]).toContain(status);
      if (status === 403) expect(ErrorBody.parse(JSON.parse(body)).error.code).toBe('unknown_host');
    },
  );

  test.each(['http://evil.example', 'null', 'http://127.0.0.1:1'])(
    'a page of another site is refused: %s',
    async (origin) => {
      const { url } = await start();

      expect((await ask(`${url}/api/v1/runs`, { origin })).status).toBe(403);
    },
  );

  test('a page of its own may ask', async () => {
    const { url } = await start();

    expect((await ask(`${url}/api/v1/runs`, { origin: url })).status).toBe(200);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    undefined,
  ])('a change is taken as JSON alone, not as %s', async (type) => {
    const { url } = await start();

    const headers = type === undefined ? {} : { 'content-type': type };
    expect((await ask(`${url}/api/v1/runs/a/stop`, headers, '{}')).status).toBe(415);
  });

  test('no answer invites other sites', async () => {
    const { url } = await start();

    const reply = await fetch(`${url}/api/v1/runs`);

    expect(reply.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('a body that is too large is refused', async () => {
    const { url } = await start();
    const body = JSON.stringify({ model: 'x'.repeat(4 * 1024 * 1024) });

    const { status } = await ask(`${url}/v1/completions`, { 'content-type': 'application/json' }, body);

    expect(status).toBe(413);
  });

  test.each([
    ['that is no UTF-8 text', Buffer.from('7b226d6f64656c223a22ff227d', 'hex'), /not UTF-8/],
    ['that is no JSON', Buffer.from('{"model":'), /JSON/],
    ['of nothing', Buffer.alloc(0), /body/i],
  ])('a body %s is refused', async (_, bytes, words) => {
    const { url } = await start();

    const { status, body } = await ask(
      `${url}/v1/completions`,
      { 'content-type': 'application/json' },
      bytes,
    );

    expect(status).toBe(400);
    expect(ErrorBody.parse(JSON.parse(body)).error.message).toMatch(words);
  });
});

describe('with a token', () => {
  const guard = { token: TOKEN, hosts: [] };

  test.each(['/api/v1/runs', '/v1/models', '/openapi.json', '/api/v1/runs/a/events', '/nothing'])(
    '%s asks for it',
    async (address) => {
      const { url } = await start({ guard });

      const without = await ask(`${url}${address}`);
      const wrong = await ask(`${url}${address}`, { authorization: `Bearer ${TOKEN}x` });
      const right = await ask(`${url}${address}`, { authorization: `bearer ${TOKEN}` });

      expect([without.status, wrong.status]).toEqual([401, 401]);
      expect(right.status).not.toBe(401);
      expect(without.body + wrong.body).not.toContain(TOKEN);
    },
  );

  test('one in the address is none: addresses end up in logs', async () => {
    const { url } = await start({ guard });

    expect((await ask(`${url}/api/v1/runs?token=${TOKEN}`)).status).toBe(401);
  });

  test('only whether it lives is told to all', async () => {
    const { url } = await start({ guard });

    expect(await ask(`${url}/healthz`)).toEqual({ status: 200, body: '{"status":"ok"}' });
    expect((await ask(`${url}/healthz/../v1/models`)).status).toBe(401);
  });
});

describe('which token', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'everstep-token-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const choose = (host: string, more: { file?: string; variable?: string } = {}) =>
    chooseToken({ host, file: more.file, variable: more.variable ?? null });

  test.each(['127.0.0.1', 'localhost', '::1', '127.1.2.3'])('%s needs none', (host) => {
    expect(choose(host)).toBeNull();
  });

  test.each(['0.0.0.0', '::', '192.168.0.5', 'box.local', '127.0.0.1.evil.example'])(
    '%s needs one',
    (host) => {
      expect(() => choose(host)).toThrow('EVERSTEP_SERVE_TOKEN');
    },
  );

  test('a file goes before the environment, and its line break is no part of it', () => {
    const file = path.join(folder, 'token');
    writeFileSync(file, `${TOKEN}\n`);

    expect(choose('0.0.0.0', { file, variable: 'another-token-of-some-length' })).toBe(TOKEN);
  });

  test('a short one, one with spaces and a file that is not there are refused', () => {
    expect(() => choose('127.0.0.1', { variable: 'short' })).toThrow('16 or more');
    expect(() => choose('127.0.0.1', { variable: 'two words of enough length' })).toThrow('16 or more');
    expect(() => choose('127.0.0.1', { file: path.join(folder, 'none') })).toThrow('--token-file');
  });
});
