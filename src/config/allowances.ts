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

/**
 * `<data folder>/allowed`: a file each, named by the SHA-256 of what it allows, so that nobody has to wait for anybody. Only a file that
 * says what it allows, and in which folder, counts: work may be told to write its folders anywhere, names can be foreseen, and a data
 * folder may have been sent by somebody, who allowed things to himself.
 */
export class Allowances {
  private readonly folder: string;

  constructor(dataFolder: string) {
    this.folder = join(dataFolder, 'allowed');
  }

  allow(allowance: Allowance): void {
    if (this.has(allowance)) return;
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const file = this.fileOf(allowance);
    const whole = join(this.folder, `.${randomUUID()}.tmp`);
    writeFileSync(whole, this.textOf(allowance), { mode: 0o600 });
    rmSync(file, { recursive: true, force: true });
    renameSync(whole, file);
  }

  has(allowance: Allowance): boolean {
    const file = this.fileOf(allowance);
    const text = this.textOf(allowance);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats?.isFile() !== true || stats.size !== Buffer.byteLength(text)) return false;
    return readFileSync(file, 'utf8') === text;
  }

  private fileOf({ use, of }: Allowance): string {
    return join(this.folder, createHash('sha256').update(`${use} ${of}`).digest('hex'));
  }

  private textOf({ use, of }: Allowance): string {
    return `${use} ${of}\n${inodeOf(this.folder) ?? ''}\n`;
  }
}
