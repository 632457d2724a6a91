import { createHash, randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inodeOf } from './folder-inode';

/**
 * What a person lets workers use because a command of theirs named it. Whoever reaches the Temporal server can start workflows with
 * any input; only who can write into the data folder can allow anything.
 */
export interface Allowance {
  /** `code` is imported and run, `key` is sent a key, `webhook` the values of headers that a schedule names, `model` is loaded by Inspect AI. */
  readonly use: 'code' | 'key' | 'webhook' | 'model';
  /** An absolute path without links, an origin such as `https://host:8443`, or a model as JSON. */
  readonly of: string;
}

/** Between the time that a file says and that of its last change, which nobody can set. */
const WRITING_MS = 10_000;
/** Of a time as text. */
const LONGEST_TIME = 20;
/** One that takes longer than it may, as on a machine without time, is written again. */
const MOST_WRITES = 5;

/**
 * `<data folder>/allowed`: a file each, named by the SHA-256 of what it allows, so that nobody has to wait for anybody. Only a file that
 * says what it allows, in which folder and when it was written counts: work may be told to write its folders anywhere, names can be
 * foreseen, and a data folder may have been sent by somebody, who allowed things to himself.
 */
export class Allowances {
  private readonly folder: string;

  constructor(dataFolder: string) {
    this.folder = join(dataFolder, 'allowed');
  }

  allow(allowance: Allowance): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    for (let left = MOST_WRITES; left > 0 && !this.has(allowance); left--) this.write(allowance);
  }

  has(allowance: Allowance): boolean {
    const file = this.fileOf(allowance);
    const text = this.textOf(allowance);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats?.isFile() !== true || stats.size > Buffer.byteLength(text) + LONGEST_TIME) return false;
    const said = readFileSync(file, 'utf8');
    if (!said.startsWith(text)) return false;
    const sinceMs = stats.ctimeMs - Number(said.slice(text.length));
    return sinceMs > -WRITING_MS && sinceMs < WRITING_MS;
  }

  private write(allowance: Allowance): void {
    const file = this.fileOf(allowance);
    const whole = join(this.folder, `.${randomUUID()}.tmp`);
    writeFileSync(whole, '', { mode: 0o600, flag: 'wx' });
    // By the clock of the disk, which may be another machine's.
    const { ctimeMs } = lstatSync(whole);
    writeFileSync(whole, `${this.textOf(allowance)}${Math.round(ctimeMs)}`);
    rmSync(file, { recursive: true, force: true });
    renameSync(whole, file);
  }

  private fileOf({ use, of }: Allowance): string {
    return join(this.folder, createHash('sha256').update(`${use} ${of}`).digest('hex'));
  }

  private textOf({ use, of }: Allowance): string {
    return `${use} ${of}\n${inodeOf(this.folder) ?? ''}\n`;
  }
}
