import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What a person lets workers use because a command of theirs named it. Whoever reaches the Temporal server can start workflows with
 * any input; only who can write into the data folder can allow anything.
 */
export interface Allowance {
  /** `code` is imported and run, `key` is sent a key. */
  readonly use: 'code' | 'key';
  /** An absolute path without links, or an origin such as `https://host:8443`. */
  readonly of: string;
}

/** `<data folder>/allowed`: a file each, named by the SHA-256 of what it allows, so that nobody has to wait for anybody. */
export class Allowances {
  private readonly folder: string;

  constructor(dataFolder: string) {
    this.folder = join(dataFolder, 'allowed');
  }

  allow(allowance: Allowance): void {
    if (this.has(allowance)) return;
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    writeFileSync(this.fileOf(allowance), `${allowance.use} ${allowance.of}\n`, { mode: 0o600 });
  }

  has(allowance: Allowance): boolean {
    return existsSync(this.fileOf(allowance));
  }

  private fileOf({ use, of }: Allowance): string {
    return join(this.folder, createHash('sha256').update(`${use} ${of}`).digest('hex'));
  }
}
