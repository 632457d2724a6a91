import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../config/environment';
import { childVariables } from '../config/environment';
import { diagnoseEngine } from './diagnosis-engine';
import { diagnoseSandbox } from './diagnosis-sandbox';
import { diagnoseTemporal } from './diagnosis-services';
import type { Finding } from './finding';
import { isOwnDatabase, REMEDY_FOR_FOREIGN } from './own-database';
import { readLock } from './pid-lock';
import { isRunning } from './process-identity';
import { SILENT_PROGRESS } from './progress';
import { findStack, listClients, readStackRecord, stackPlaces } from './stack-record';
import { findOnPath } from './find-on-path';
import { binaryLookup, cachedBinaryPath, findTemporalBinary } from './temporal-binary';
import { findDatabaseDamage, remedyForDamage } from './database-damage';
import { databaseLock } from './temporal-server';

const NODE_MINIMUM = [20, 19] as const;
const LITTLE_DISK_BYTES = 2e9;
const DIST = path.resolve(__dirname, '../../dist');

/** Looks at everything a run needs, without changing or starting anything. */
export async function diagnose(environment: Environment): Promise<Finding[]> {
  const [binary, temporal, database, engine, store, sandbox] = await Promise.all([
    diagnoseBinary(environment),
    diagnoseTemporal(environment),
    diagnoseDatabase(environment.dataFolder),
    diagnoseEngine(environment),
    diagnoseStore(environment.store),
    diagnoseSandbox(environment.sandbox),
  ]);
  return [
    ...diagnoseNode(process.versions.node),
    ...diagnoseBuild(DIST),
    ...binary,
    ...temporal,
    ...database,
    ...diagnoseStack(environment.dataFolder),
    ...engine,
    ...store,
    ...sandbox,
    ...diagnosePrograms(),
    ...diagnoseLocks(environment.dataFolder),
  ];
}

export function diagnoseNode(version: string): Finding[] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1]);
  if (isEnough) return [{ name: 'node', status: 'ok', found: version }];
  return [
    {
      name: 'node',
      status: 'missing',
      found: version,
      remedy: `Install Node ${NODE_MINIMUM.join('.')} or newer.`,
    },
  ];
}

export function diagnoseBuild(dist: string): Finding[] {
  const needed = ['cli/main.js', 'workflow-bundle.js'];
  const absent = needed.filter((file) => !existsSync(path.join(dist, file)));
  if (absent.length === 0) return [{ name: 'build', status: 'ok', found: dist }];
  return [
    {
      name: 'build',
      status: 'missing',
      found: `no ${absent.join(', ')} in ${dist}`,
      remedy: 'Run `npm run build`.',
    },
  ];
}

async function diagnoseBinary(environment: Environment): Promise<Finding[]> {
  const name = 'temporal binary';
  const problems: string[] = [];
  try {
    const lookup = binaryLookup(environment, {
      ...SILENT_PROGRESS,
      note: (line) => problems.push(line),
    });
    const binary = await findTemporalBinary(lookup);
    if (binary !== null)
      return [{ name, status: 'ok', found: `${binary.path} (${binary.source}, ${binary.version})` }];
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return [{ name, status: 'missing', found, remedy: 'Correct or unset EVERSTEP_TEMPORAL_CLI.' }];
  }
  const absent = [`none on PATH nor at ${cachedBinaryPath(environment.cacheFolder)}`, ...problems].join('; ');
  const hasGo = findOnPath('go', childVariables({})['PATH'] ?? '') !== null;
  const first = 'The first start tries the SDK download';
  if (hasGo)
    return [
      {
        name,
        status: 'note',
        found: absent,
        remedy: `${first}, else builds it with Go (three minutes, once).`,
      },
    ];
  return [
    {
      name,
      status: 'note',
      found: absent,
      remedy: `${first}; offline, install the Temporal CLI or Go, or set TEMPORAL_ADDRESS.`,
    },
  ];
}

export function diagnoseStack(dataFolder: string): Finding[] {
  const name = 'stack';
  const record = findStack(dataFolder);
  if (record !== null) {
    const children = record.children.map(
      (child) => `${child.name} ${child.pid}${isRunning(child) ? '' : ' (restarting)'}`,
    );
    const clients = listClients(dataFolder).map((client) => `${client.purpose} (${client.pid})`);
    const use = clients.length === 0 ? '' : `; used by ${clients.join(', ')}`;
    return [
      { name, status: 'ok', found: `${record.kind}, process ${record.pid}: ${children.join(', ')}${use}` },
    ];
  }
  const left = readStackRecord(dataFolder);
  if (left === null || !left.ready)
    return [{ name, status: 'ok', found: 'none running; commands start one when they need it' }];
  const remedy = 'Nothing to do: the next start takes over, and runs go on.';
  return [{ name, status: 'note', found: `process ${left.pid} ended without cleaning up`, remedy }];
}

export async function diagnoseStore(store: string): Promise<Finding[]> {
  const name = 'store';
  if (store.includes('://')) return [{ name, status: 'ok', found: `${store} (not looked into here)` }];
  const folder = nearestFolder(store);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    return [
      {
        name,
        status: 'missing',
        found: `${store}: no permission to write in ${folder}`,
        remedy: 'Choose another with --store.',
      },
    ];
  }
  const space = await statfs(folder);
  const freeBytes = space.bavail * space.bsize;
  const found = `${store}, ${(freeBytes / 1e9).toFixed(1)} GB free`;
  if (freeBytes >= LITTLE_DISK_BYTES) return [{ name, status: 'ok', found }];
  return [
    {
      name,
      status: freeBytes < LITTLE_DISK_BYTES / 10 ? 'missing' : 'note',
      found,
      remedy: 'Make room: checkpoints and rollouts go there.',
    },
  ];
}

function nearestFolder(place: string): string {
  const stat = statSync(place, { throwIfNoEntry: false });
  if (stat?.isDirectory() || place === path.dirname(place)) return place;
  return nearestFolder(path.dirname(place));
}

function diagnosePrograms(): Finding[] {
  const searchPath = childVariables({})['PATH'] ?? '';
  const optional = [{ program: 'python3', use: 'graders and environments in Python' }];
  return optional.map(({ program, use }) => {
    const found = findOnPath(program, searchPath);
    if (found !== null) return { name: program, status: 'ok', found };
    return { name: program, status: 'note', found: 'not there (optional)', remedy: `For ${use}.` };
  });
}

/** One that a server has open is not looked into: what is being written looks like damage, and the server tells of its own. */
async function diagnoseDatabase(dataFolder: string): Promise<Finding[]> {
  const { database } = stackPlaces(dataFolder);
  const name = 'database';
  if (!existsSync(database)) return [{ name, status: 'ok', found: 'none yet; the first start makes it' }];
  const holder = readLock(databaseLock(database));
  if (holder !== null && isRunning(holder)) return [{ name, status: 'ok', found: `${database}, in use` }];
  const damage = await findDatabaseDamage(database);
  if (damage === null && isOwnDatabase(database)) return [{ name, status: 'ok', found: database }];
  if (damage === null) {
    return [{ name, status: 'missing', found: `${database} was not made here`, remedy: REMEDY_FOR_FOREIGN }];
  }
  return [
    {
      name,
      status: 'missing',
      found: `${database} is damaged: ${damage}`,
      remedy: remedyForDamage(database),
    },
  ];
}

export function diagnoseLocks(dataFolder: string): Finding[] {
  const places = stackPlaces(dataFolder);
  const stale = [places.lock, databaseLock(places.database)].filter((file) => {
    const holder = readLock(file);
    return existsSync(file) && (holder === null || !isRunning(holder));
  });
  if (stale.length === 0) return [{ name: 'locks', status: 'ok', found: 'none left behind' }];
  const remedy = 'Nothing to do: the next start takes them over.';
  return [
    { name: 'locks', status: 'note', found: `left by processes that are gone: ${stale.join(', ')}`, remedy },
  ];
}
