import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeHalfWritten } from '../../../src/stack/half-written';
import { stackPlaces } from '../../../src/stack/stack-record';

const UUID = '0f0e0d0c-1234-4abc-8def-0123456789ab';
let data: string;

beforeEach(() => {
  data = mkdtempSync(path.join(tmpdir(), 'everstep-half-'));
  mkdirSync(stackPlaces(data).clients);
});
afterEach(() => {
  rmSync(data, { recursive: true });
});

function write(name: string, isOld: boolean): void {
  const file = path.join(data, name);
  writeFileSync(file, '');
  const time = Date.now() / 1000 - (isOld ? 3600 : 0);
  utimesSync(file, time, time);
}

test('what a killed process wrote beside records and locks goes; what may be under way, and everything else, stays', () => {
  const left = [
    `stack.json.${UUID}.new`,
    `dev.lock.${UUID}`,
    `temporal.db.lock.${UUID}`,
    `clients/77.${UUID}.new`,
  ];
  const kept = ['stack.json', 'dev.lock', 'temporal.db', `notes.${UUID}`, 'clients/77'];
  for (const name of [...left, ...kept]) write(name, true);
  const underWay = `dev.lock.${UUID.replace('0f', '1f')}`;
  write(underWay, false);

  removeHalfWritten(data);

  const names = readdirSync(data, { recursive: true }).map(String);
  expect(names.toSorted()).toEqual([...kept, underWay, 'clients'].toSorted());
});
