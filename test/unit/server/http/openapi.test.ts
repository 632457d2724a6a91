import { z } from 'zod';
import type { TestServer } from '../serving';
import { startServer } from '../serving';

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: object }[];
  readonly requestBody?: { content: Record<string, { schema: object }> };
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
  readonly security?: object[];
}

let server: TestServer;
let document: Document;

beforeAll(async () => {
  server = await startServer();
  document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Document;
});

afterAll(async () => {
  await server.close();
});

const operations = (): Operation[] => Object.values(document.paths).flatMap((path) => Object.values(path));

test('is of the version it says, and has every route', () => {
  expect(document.openapi).toBe('3.1.0');
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described.sort()).toEqual(server.specs.map(({ method, path }) => `${method} ${path}`).sort());
  expect(described).toEqual(
    expect.arrayContaining([
      'GET /api/v1/runs',
      'GET /api/v1/runs/{run}/events',
      'POST /api/v1/runs/{run}/set',
      'POST /v1/chat/completions',
      'GET /v1/models/{model}',
    ]),
  );
});

test('names each operation once', () => {
  const names = operations().map(({ operationId }) => operationId);

  expect(new Set(names).size).toBe(names.length);
});

test('declares each part of a path, and nothing as a part that is none', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const { parameters = [] } of Object.values(methods)) {
      const declared = parameters.filter((parameter) => parameter.in === 'path');
      expect(declared.map(({ name }) => name).sort()).toEqual(
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
      );
      expect(declared.every(({ required }) => required)).toBe(true);
    }
  }
});

test('says what every answer is, also when it is a refusal', () => {
  for (const { responses } of operations()) {
    const { default: failure, '4XX': refusal, ...answers } = responses;
    expect(Object.keys(answers).length).toBeGreaterThan(0);
    for (const each of [failure, refusal])
      expect(each?.content?.['application/json']?.schema).toEqual({ $ref: '#/components/schemas/Error' });
    for (const { description } of Object.values(responses)) expect(description).not.toBe('');
  }
});

test('refers to nothing that is not there', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(
    ([, target]) => target ?? '',
  );

  expect(references.length).toBeGreaterThan(10);
  for (const target of references) {
    expect(target).toMatch(/^#\/components\/schemas\/\w+$/);
    expect(document.components.schemas).toHaveProperty(target.split('/').at(-1) ?? '');
  }
});

test('holds no schema that is only a reference', () => {
  for (const schema of Object.values(document.components.schemas)) expect(schema).not.toHaveProperty('$ref');
});

test('holds JSON Schemas that a reader of them takes', () => {
  for (const schema of Object.values(document.components.schemas)) {
    const text = JSON.stringify({ ...schema, $defs: document.components.schemas });
    const local: unknown = JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/'));
    expect(() => z.fromJSONSchema(local as Parameters<typeof z.fromJSONSchema>[0])).not.toThrow();
  }
});

test('asks for a token where the server does', async () => {
  const token = 'a-token-of-some-length';
  const guarded = await startServer({ guard: { token, hosts: [] } });

  const headers = { authorization: `Bearer ${token}` };
  const description = (await (await fetch(`${guarded.url}/openapi.json`, { headers })).json()) as Document;
  await guarded.close();

  expect(description.security).toEqual([{ token: [] }]);
  expect(document.security).toEqual([]);
});
