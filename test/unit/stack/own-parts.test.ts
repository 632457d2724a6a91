import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isOwnDatabase } from '../../../src/stack/own-database';
import { requireOwnParts, requirePlainParts } from '../../../src/stack/own-parts';
import { takePidLock } from '../../../src/stack/pid-lock';
import { ownIdentity } from '../../../src/stack/process-identity';
import { addClient, listClients, stackPlaces, writeStackRecord } from '../../../src/stack/stack-record';

let root: string;
let data: string;
let precious: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'everstep-parts-'));
  data = path.join(root, 'data');
  mkdirSync(data);
  precious = path.join(root, 'precious');
  writeFileSync(precious, 'mine');
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

test.each([
  'stack.json',
  'dev.lock.77',
  'temporal.db',
  'clients',
  'logs',
  'engine',
  'logs/dev.log',
  'clients/77',
])('a link in the place of %s is refused by its path before a stack writes there', (name) => {
  const place = path.join(data, name);
  mkdirSync(path.dirname(place), { recursive: true });
  symlinkSync(precious, place);

  expect(() => {
    requireOwnParts(data);
  }).toThrow(place);
});

test('a pipe is refused by its path, whatever it stands for', () => {
  const pipe = path.join(data, 'temporal.db.place');
  execFileSync('mkfifo', [pipe]);

  expect(() => {
    requirePlainParts(data);
  }).toThrow(`${pipe} is a pipe`);
  expect(isOwnDatabase(path.join(data, 'temporal.db'))).toBe(true);
  writeFileSync(path.join(data, 'temporal.db'), '');
  expect(isOwnDatabase(path.join(data, 'temporal.db'))).toBe(false);
});

test('a folder in the place of a lock is refused by its path', () => {
  mkdirSync(path.join(data, 'dev.lock'));

  expect(() => {
    requirePlainParts(data);
  }).toThrow(`${path.join(data, 'dev.lock')} is a folder`);
});

test('a file in the place of a folder is refused by its path', () => {
  writeFileSync(path.join(data, 'clients'), '');

  expect(() => {
    requireOwnParts(data);
  }).toThrow(`${path.join(data, 'clients')} is no folder`);
});

test('a store and a cache on another disk, and what a stack writes, are its own', () => {
  const elsewhere = path.join(root, 'disk');
  mkdirSync(elsewhere);
  for (const name of ['store', 'cache']) symlinkSync(elsewhere, path.join(data, name));
  const removeClient = addClient(data, 'test');
  mkdirSync(stackPlaces(data).logs);
  writeFileSync(path.join(stackPlaces(data).logs, 'dev.log.old'), '');

  requireOwnParts(data);

  removeClient();
  requireOwnParts(path.join(root, 'none'));
});

test('clients behind a link are nobody’s, and none of their files goes', () => {
  const mail = path.join(root, 'mail');
  mkdirSync(mail);
  writeFileSync(path.join(mail, '1'), 'mine');
  symlinkSync(mail, stackPlaces(data).clients);

  expect(listClients(data)).toEqual([]);
  expect(readFileSync(path.join(mail, '1'), 'utf8')).toBe('mine');
});

test('a folder among the clients keeps nobody from listing them', () => {
  mkdirSync(path.join(stackPlaces(data).clients, '77'), { recursive: true });

  expect(listClients(data)).toEqual([]);
  expect(existsSync(path.join(stackPlaces(data).clients, '77'))).toBe(true);
});

test('what is written beside a lock or a record follows no link that somebody put there', async () => {
  const { lock, record } = stackPlaces(data);
  symlinkSync(precious, `${lock}.${process.pid}`);
  symlinkSync(precious, `${record}.${process.pid}.new`);

  const taken = await takePidLock(lock);
  writeStackRecord(data, {
    ...ownIdentity(),
    ...{ ready: true, kind: 'dev', temporalAddress: '127.0.0.1:1', namespace: 'n', uiUrl: null },
    ...{ engineUrl: 'http://127.0.0.1:2', store: data, children: [] },
  });

  expect(taken).toHaveProperty('lock');
  expect(readFileSync(precious, 'utf8')).toBe('mine');
});
