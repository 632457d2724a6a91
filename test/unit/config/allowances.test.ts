import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Allowances } from '../../../src/config/allowances';

const CODE = { use: 'code', of: '/home/me/plugins.js' } as const;

let dataFolder: string;
let allowances: Allowances;
let place: string;

beforeEach(() => {
  dataFolder = mkdtempSync(join(tmpdir(), 'everstep-allowed-'));
  allowances = new Allowances(dataFolder);
  allowances.allow(CODE);
  const [name = ''] = readdirSync(join(dataFolder, 'allowed'));
  place = join(dataFolder, 'allowed', name);
});

afterEach(() => {
  rmSync(dataFolder, { recursive: true });
});

test('what was allowed is, and nothing else, and it leaves nothing else behind', () => {
  allowances.allow(CODE);

  expect(allowances.has(CODE)).toBe(true);
  expect(allowances.has({ ...CODE, use: 'key' })).toBe(false);
  expect(readdirSync(join(dataFolder, 'allowed'))).toHaveLength(1);
});

const forgeries: [string, () => void][] = [
  [
    'a folder',
    () => {
      mkdirSync(place);
    },
  ],
  [
    'an empty file',
    () => {
      writeFileSync(place, '');
    },
  ],
  [
    'a file that says something else',
    () => {
      writeFileSync(place, 'code /home/me/plugins.ts\n');
    },
  ],
  [
    'a file that says it of another folder, as one that came with a data folder from elsewhere',
    () => {
      writeFileSync(place, `code ${CODE.of}\n1\n`);
    },
  ],
  [
    'a file that says it was written at another time, as one that was unpacked',
    () => {
      writeFileSync(place, readFileSync(join(dataFolder, 'away'), 'utf8').replace(/\d+$/, '1700000000000'));
    },
  ],
  [
    'a link to one that says it',
    () => {
      symlinkSync(join(dataFolder, 'away'), place);
    },
  ],
];

test.each(forgeries)(
  'in the place of an allowance %s allows nothing, and does not keep a person from it',
  (_, forge) => {
    renameSync(place, join(dataFolder, 'away'));
    forge();
    expect(allowances.has(CODE)).toBe(false);

    allowances.allow(CODE);

    expect(allowances.has(CODE)).toBe(true);
  },
);

test('a copy of the data folder allows nothing, also where the other one was', () => {
  const sent = `${dataFolder}-sent`;
  renameSync(dataFolder, sent);
  cpSync(sent, dataFolder, { recursive: true });

  expect(new Allowances(dataFolder).has(CODE)).toBe(false);
  rmSync(dataFolder, { recursive: true });
  renameSync(sent, dataFolder);
  expect(new Allowances(dataFolder).has(CODE)).toBe(true);
});
