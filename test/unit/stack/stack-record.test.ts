import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readEnvironment } from '../../../src/config/environment';
import { findLockHolder } from '../../../src/stack/pid-lock';
import { ownIdentity } from '../../../src/stack/process-identity';
import {
  addClient,
  findStack,
  listClients,
  readStackRecord,
  stackPlaces,
  writeStackRecord,
} from '../../../src/stack/stack-record';

test('a copied data folder has no stack, though that of the folder it was copied from lives', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'record-'));
  const [first, copied] = [path.join(root, 'first'), path.join(root, 'copied')];
  const record = {
    ...ownIdentity(),
    ...{ ready: true, kind: 'dev' as const, dataFolder: first, namespace: 'default', uiUrl: null },
    ...{ temporalAddress: '127.0.0.1:1', engineUrl: 'http://127.0.0.1:2', store: path.join(first, 'store') },
    children: [{ name: 'engine', ...ownIdentity() }],
  };
  writeStackRecord(first, record);

  cpSync(first, copied, { recursive: true });

  expect(findStack(first)).toMatchObject(record);
  // Nor has it processes that its next stack might end.
  expect(readStackRecord(copied)).toBeNull();
  renameSync(first, path.join(root, 'away'));
  cpSync(copied, first, { recursive: true });
  expect(readStackRecord(first)).toBeNull();
  rmSync(root, { recursive: true });
});

test('a client that came with a copy of its folder, or has the name of another process, keeps no stack, though its process lives', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'record-'));
  const [first, copied] = [path.join(root, 'first'), path.join(root, 'copied')];
  const removeClient = addClient(first, 'train mine');
  const { clients } = stackPlaces(first);
  cpSync(path.join(clients, String(process.pid)), path.join(clients, '100017'));
  cpSync(first, copied, { recursive: true });

  expect(listClients(first)).toMatchObject([{ pid: process.pid, purpose: 'train mine' }]);
  expect(listClients(copied)).toEqual([]);
  removeClient();
  rmSync(root, { recursive: true });
});

test('a pipe in the place of the record, of a lock or of a client keeps nobody waiting', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'record-'));
  const { record, lock, clients } = stackPlaces(folder);
  mkdirSync(clients);
  const client = path.join(clients, '77');
  for (const place of [record, lock, client]) execFileSync('mkfifo', [place]);

  expect(findStack(folder)).toBeNull();
  expect(findLockHolder(lock)).toBeNull();
  expect(listClients(folder)).toEqual([]);
  expect(readEnvironment({ dataDir: folder }, {}).store).toBe(path.join(folder, 'store'));
  rmSync(folder, { recursive: true });
});
