import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isSameFolder, usualStore } from '../../../src/config/remembered-store';

describe('the store that a data folder remembers', () => {
  let root: string;
  let first: string;
  let other: string;

  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'remembered-'));
    first = path.join(root, 'first', '.everstep');
    other = path.join(root, 'other', '.everstep');
    mkdirSync(path.join(first, 'store'), { recursive: true });
    mkdirSync(path.dirname(other));
  });

  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  const remember = (folder: string, record: object): void => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'stack.json'), JSON.stringify({ engineUrl: 'http://h:1', ...record }));
  };
  const copy = (): void => {
    cpSync(first, other, { recursive: true });
  };

  test('is its own where it has none on record, or one that cannot be read', () => {
    expect(usualStore(first)).toBe(path.join(first, 'store'));
    writeFileSync(path.join(first, 'stack.json'), '{"store": 3}');
    expect(usualStore(first)).toBe(path.join(first, 'store'));
  });

  test.each([
    ['written since', (folder: string) => ({ dataFolder: folder })],
    ['of releases before', () => ({})],
  ])('is its own after a copy, and after a move: a record %s', (_which, places) => {
    remember(first, { store: path.join(first, 'store'), ...places(first) });

    copy();

    expect(usualStore(first)).toBe(path.join(first, 'store'));
    expect(usualStore(other)).toBe(path.join(other, 'store'));
    rmSync(first, { recursive: true });
    expect(usualStore(other)).toBe(path.join(other, 'store'));
  });

  test.each([
    ['written since', (folder: string) => ({ dataFolder: folder })],
    ['of releases before', () => ({})],
  ])('stays the one that it was given, also after a copy: a record %s', (_which, places) => {
    const given = path.join(root, 'elsewhere', 'store');
    mkdirSync(given, { recursive: true });
    remember(first, { store: given, ...places(first) });

    copy();

    expect(usualStore(first)).toBe(given);
    expect(usualStore(other)).toBe(given);
  });

  test.each([
    ['written since', (folder: string) => ({ dataFolder: folder })],
    ['of releases before', () => ({})],
  ])('stays that of another data folder where it was given: a record %s', (_which, places) => {
    remember(first, { store: path.join(first, 'store'), ...places(first) });
    remember(other, { store: path.join(first, 'store'), engineUrl: 'http://h:2', ...places(other) });

    expect(usualStore(other)).toBe(path.join(first, 'store'));
  });

  test('stays what it is by another name of the same folder', () => {
    remember(first, { store: path.join(first, 'store'), dataFolder: first });
    symlinkSync(first, other);

    expect(usualStore(other)).toBe(path.join(first, 'store'));
    expect(isSameFolder(first, other)).toBe(true);
    rmSync(other);
    renameSync(first, other);
    expect(isSameFolder(first, other)).toBe(false);
  });
});
