import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { adoptDatabase, isOwnDatabase, requireOwnDatabase } from '../../../src/stack/own-database';

let root: string;
let data: string;
let database: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'everstep-database-'));
  data = path.join(root, 'data');
  mkdirSync(data);
  database = path.join(data, 'temporal.db');
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

/** As a stack does: it looks before there is one, and notes it when its server is up. */
function makeDatabase(): void {
  requireOwnDatabase(database);
  writeFileSync(database, 'tables');
  adoptDatabase(database);
}

const refusal = (file: string) => () => {
  requireOwnDatabase(file);
};

test('a database is its own where it was made, also where its server was killed before it noted it, and in a folder that was moved', () => {
  expect(isOwnDatabase(database)).toBe(true);
  requireOwnDatabase(database);
  writeFileSync(database, 'tables');
  expect(isOwnDatabase(database)).toBe(true);

  adoptDatabase(database);
  const moved = path.join(root, 'moved');
  renameSync(data, moved);

  expect(isOwnDatabase(path.join(moved, 'temporal.db'))).toBe(true);
});

test('one that came with a copy of its folder, or with no word of its place, is refused until somebody takes it over', () => {
  makeDatabase();
  const copy = path.join(root, 'copy');
  cpSync(data, copy, { recursive: true });
  const copied = path.join(copy, 'temporal.db');
  rmSync(`${database}.place`);

  expect(refusal(copied)).toThrow(`${copied} was not made in this folder`);
  expect(refusal(database)).toThrow('npx everstep dev --adopt');
  adoptDatabase(copied);
  expect(refusal(copied)).not.toThrow();
});
