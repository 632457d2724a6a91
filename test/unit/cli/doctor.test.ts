import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { formatFindings } from '../../../src/cli/commands/doctor';
import type { Finding } from '../../../src/stack/finding';
import { readEnvironment } from '../../../src/config/environment';
import {
  diagnoseBuild,
  diagnoseLocks,
  diagnoseNode,
  diagnoseStack,
  diagnoseStore,
} from '../../../src/stack/diagnosis';
import { diagnoseEngine } from '../../../src/stack/diagnosis-engine';
import { attributesFinding } from '../../../src/stack/diagnosis-services';
import { ownIdentity } from '../../../src/stack/process-identity';
import { writeStackRecord } from '../../../src/stack/stack-record';
import { SEARCH_ATTRIBUTES } from '../../../src/stack/temporal-server';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-doctor-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const RECORD = {
  ready: true,
  kind: 'dev',
  temporalAddress: '127.0.0.1:1',
  namespace: 'everstep',
  uiUrl: null,
  engineUrl: 'http://127.0.0.1:1',
  store: '/s',
} as const;

test.each([
  ['20.18.3', 'missing'],
  ['20.19.0', 'ok'],
  ['22.0.0', 'ok'],
  ['18.20.0', 'missing'],
])('Node %s is %s', (version, status) => {
  expect(diagnoseNode(version)).toMatchObject([{ status }]);
});

test('a build without the workflow bundle is not one', () => {
  mkdirSync(path.join(folder, 'cli'));
  writeFileSync(path.join(folder, 'cli/main.js'), '');

  const [finding] = diagnoseBuild(folder);

  expect(finding?.status).toBe('missing');
  expect(finding?.found).toContain('workflow-bundle.js');
});

test('shows a living stack with its processes', () => {
  const own = ownIdentity();
  writeStackRecord(folder, { ...own, ...RECORD, children: [{ name: 'worker', ...own }] });

  expect(diagnoseStack(folder)).toMatchObject([
    { status: 'ok', found: `dev, process ${own.pid}: worker ${own.pid}` },
  ]);
});

test('says that a stack whose process is gone needs nothing', () => {
  writeStackRecord(folder, { pid: 999_999_999, startedAt: '1', ...RECORD, children: [] });

  const [finding] = diagnoseStack(folder);

  expect(finding?.status).toBe('note');
  expect(finding?.remedy).toContain('next start');
});

test('names the lock of a process that is gone', () => {
  writeFileSync(
    path.join(folder, 'dev.lock'),
    JSON.stringify({ pid: 999_999_999, startedAt: '1', notes: {} }),
  );

  const [finding] = diagnoseLocks(folder);

  expect(finding?.status).toBe('note');
  expect(finding?.found).toContain('dev.lock');
});

test('looks at the folder in which a store would be made, and makes nothing', async () => {
  const [finding] = await diagnoseStore(path.join(folder, 'a/b/store'));

  expect(finding?.found).toMatch(/GB free/);
  expect(finding?.status).not.toBe('missing');
});

test('gives the commands that create search attributes that are not there', () => {
  const present = Object.keys(SEARCH_ATTRIBUTES).filter((name) => name !== 'EverstepStep');

  expect(attributesFinding(Object.keys(SEARCH_ATTRIBUTES)).status).toBe('ok');
  expect(attributesFinding(present)).toMatchObject({
    status: 'missing',
    remedy:
      '`npx everstep setup` adds them, as does temporal operator search-attribute create --name EverstepStep --type Int',
  });
});

describe('the engine', () => {
  async function diagnoseAnswer(status: number, body: unknown) {
    const server = createServer((_request, reply) => {
      reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const url = `http://127.0.0.1:${port}`;
      return await diagnoseEngine(readEnvironment({ dataDir: folder }, { TINKER_BASE_URL: url }));
    } finally {
      server.close();
    }
  }

  test('is shown with its models', async () => {
    const [finding] = await diagnoseAnswer(200, { supported_models: [{ model_name: 'tiny' }] });

    expect(finding?.status).toBe('ok');
    expect(finding?.found).toMatch(/: tiny$/);
  });

  test('that refuses us needs a key', async () => {
    expect(await diagnoseAnswer(401, {})).toMatchObject([
      { status: 'missing', remedy: 'Set TINKER_API_KEY.' },
    ]);
  });

  test('that does not answer is missing', async () => {
    const environment = readEnvironment({ dataDir: folder }, { TINKER_BASE_URL: 'http://127.0.0.1:1' });

    expect(await diagnoseEngine(environment)).toMatchObject([{ status: 'missing' }]);
  });
});

test('prints each finding on a line and its remedy below', () => {
  const findings: Finding[] = [
    { name: 'node', status: 'ok', found: '20.20.2' },
    { name: 'engine', status: 'missing', found: 'gone', remedy: 'Start it.' },
  ];

  expect(formatFindings(findings, Infinity).split('\n')).toEqual([
    'ok       node    20.20.2',
    'MISSING  engine  gone',
    '                 → Start it.',
  ]);
});

test('what is found goes on below itself in a terminal that is narrower', () => {
  const found = 'the engine of the stack answers at its address';

  expect(formatFindings([{ name: 'engine', status: 'ok', found }], 46).split('\n')).toEqual([
    'ok       engine  the engine of the stack',
    '                 answers at its address',
  ]);
});
