import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { inodeOf } from '../config/folder-inode';
import { readPlainFile } from '../config/plain-file';
import { isSameFolder } from '../config/remembered-store';
import { isRunning, ownIdentity } from './process-identity';
import { writeWhole } from './write-whole';

/**
 * What a stack writes down in its data folder, for the commands that use it:
 *
 *     stack.json       addresses and processes of the stack, true while its `pid` lives
 *     dev.lock         held by the supervisor
 *     temporal.db      the server's database, with temporal.db.lock naming the server's process, and temporal.db.place the inodes that it has here
 *     clients/<pid>    one file for each command that needs the stack to stay
 *     logs/<name>.log  what each process wrote
 */
const StackRecord = z.object({
  pid: z.int().min(1),
  startedAt: z.string(),
  ready: z.boolean(),
  /** The one it was written in; releases before did not say it. */
  dataFolder: z.string().optional(),
  /** `dev` stays until it is stopped; `until-idle` goes when its last client has gone. */
  kind: z.enum(['dev', 'until-idle']),
  temporalAddress: z.string(),
  namespace: z.string(),
  uiUrl: z.string().nullable(),
  engineUrl: z.string(),
  store: z.string(),
  children: z.array(z.object({ name: z.string(), pid: z.int().min(2), startedAt: z.string() })),
});
export type StackRecord = z.infer<typeof StackRecord>;

/** With the inode of its folder: a copy of that, or one that somebody sent, has no stack for what is written in it. */
const PlacedRecord = StackRecord.extend({ inode: z.string() });

const Client = z.object({ pid: z.int().min(1), startedAt: z.string(), purpose: z.string() });
export type StackClient = z.infer<typeof Client>;
/** With the inode of the folder of clients. */
const PlacedClient = Client.extend({ inode: z.string() });

export const stackPlaces = (dataFolder: string) => ({
  record: path.join(dataFolder, 'stack.json'),
  lock: path.join(dataFolder, 'dev.lock'),
  database: path.join(dataFolder, 'temporal.db'),
  clients: path.join(dataFolder, 'clients'),
  logs: path.join(dataFolder, 'logs'),
});

/** The stack that lives on this data folder and is ready; null when there is none. */
export function findStack(dataFolder: string): StackRecord | null {
  const record = readStackRecord(dataFolder);
  return record?.ready && isRunning(record) ? record : null;
}

/** What was last recorded, whether that stack still lives or not. What came with a copied or moved folder is of another stack. */
export function readStackRecord(dataFolder: string): StackRecord | null {
  const record = readJson(stackPlaces(dataFolder).record, PlacedRecord);
  if (record === null || record.inode !== inodeOf(dataFolder)) return null;
  return isSameFolder(record.dataFolder ?? dataFolder, dataFolder) ? record : null;
}

export function writeStackRecord(dataFolder: string, record: StackRecord): void {
  mkdirSync(dataFolder, { recursive: true });
  writeWhole(stackPlaces(dataFolder).record, jsonOf({ ...record, inode: inodeOf(dataFolder) }));
}

/** Says that this process needs the stack. The file means nothing once the process is gone. */
export function addClient(dataFolder: string, purpose: string): () => void {
  const { clients } = stackPlaces(dataFolder);
  const file = path.join(clients, String(process.pid));
  mkdirSync(clients, { recursive: true });
  writeWhole(file, jsonOf({ ...ownIdentity(), purpose, inode: inodeOf(clients) }));
  return () => {
    rmSync(file, { force: true });
  };
}

/** The living clients; files of dead ones are removed, and those that came with the folder from elsewhere. */
export function listClients(dataFolder: string): StackClient[] {
  const folder = stackPlaces(dataFolder).clients;
  const inode = inodeOf(folder);
  return listFiles(folder).flatMap((name) => {
    const client = readJson(path.join(folder, name), PlacedClient);
    if (client?.inode === inode && String(client.pid) === name && isRunning(client)) return [client];
    rmSync(path.join(folder, name), { force: true });
    return [];
  });
}

/** Names of the plain files of clients; none of a folder that is a link, whose files are somebody's. */
function listFiles(folder: string): string[] {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && /^\d+$/.test(entry.name)).map(({ name }) => name);
}

function readJson<Value>(file: string, schema: z.ZodType<Value>): Value | null {
  try {
    return schema.parse(JSON.parse(readPlainFile(file)));
  } catch {
    return null;
  }
}

const jsonOf = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
