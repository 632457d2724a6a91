import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import type pino from 'pino';
import { z } from 'zod';
import { DomainError } from '../../../core/errors';
import { isMissing } from './checkpoints/damage';
import { NoPlainFile, readPlainFileSync } from './checkpoints/plain-file';

const AppliedStep = z.object({ model: z.string(), step: z.int().min(1) });

export interface AppliedStepsOptions {
  readonly logger: pino.Logger;
  readonly maxBytes?: number;
  readonly maxModels?: number;
}

/** Some tens of thousands of rows. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_MODELS = 10_000;
/** No engine lets its file grow so long. */
const LARGEST_BYTES = 2 ** 26;
/** To where no link leads. */
const APPENDING = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * How many optimizer steps each model was given, in this life of the engine and the ones before it.
 *
 *     applied-steps.jsonl   {"model": "<id>", "step": <the how manyeth of this model, from 1>}
 *
 * A row is with the operating system before its step is answered, so a killed process loses none that anybody heard
 * of. A file that has grown to `maxBytes` is replaced by the last row of each of the newest `maxModels` models.
 */
export class AppliedSteps {
  private readonly counts = new Map<string, number>();
  private file = -1;
  private size = 0;
  /** Rows a full disk would not take yet. */
  private unwritten = Buffer.alloc(0);

  private constructor(
    private readonly filePath: string,
    private readonly options: AppliedStepsOptions,
  ) {}

  static open(folder: string, options: AppliedStepsOptions): AppliedSteps {
    mkdirSync(folder, { recursive: true });
    const ledger = new AppliedSteps(path.join(folder, 'applied-steps.jsonl'), options);
    ledger.read();
    return ledger;
  }

  /** 0 for a model that no step of is on record. */
  countOf(modelId: string): number {
    return this.counts.get(modelId) ?? 0;
  }

  add(modelId: string): void {
    const step = this.countOf(modelId) + 1;
    this.remember(modelId, step);
    this.append(rowOf(modelId, step));
  }

  close(): void {
    if (this.file >= 0) closeSync(this.file);
    this.file = -1;
  }

  private read(): void {
    const text = readText(this.filePath);
    for (const line of text.split('\n')) {
      const row = parseRow(line);
      if (row) this.remember(row.model, row.step);
    }
    this.size = Buffer.byteLength(text);
    // A row may end in the middle where the power failed, and the next one must not continue it.
    if (text !== '' && !text.endsWith('\n')) this.compact();
    else this.file = openSync(this.filePath, APPENDING);
    this.compactIfLarge();
  }

  /** Models stand in the order of their latest steps. */
  private remember(modelId: string, step: number): void {
    this.counts.delete(modelId);
    this.counts.set(modelId, step);
  }

  private append(row: string): void {
    this.unwritten = Buffer.concat([this.unwritten, Buffer.from(row)]);
    try {
      while (this.unwritten.length > 0) {
        const written = writeSync(this.file, this.unwritten);
        this.size += written;
        this.unwritten = this.unwritten.subarray(written);
      }
      this.compactIfLarge();
    } catch (error) {
      // The step is applied all the same; its row follows with the next one.
      this.options.logger.warn({ err: error }, 'could not record an applied step yet');
    }
  }

  private compactIfLarge(): void {
    if (this.size > (this.options.maxBytes ?? MAX_BYTES)) this.compact();
  }

  private compact(): void {
    const surplus = this.counts.size - (this.options.maxModels ?? MAX_MODELS);
    for (const modelId of [...this.counts.keys()].slice(0, Math.max(0, surplus))) this.counts.delete(modelId);
    const rows = Buffer.from([...this.counts].map(([modelId, step]) => rowOf(modelId, step)).join(''));
    const temporary = `${this.filePath}.new`;
    rmSync(temporary, { force: true });
    writeFileSync(temporary, rows, { flag: 'wx' });
    const replacement = openSync(temporary, APPENDING);
    renameSync(temporary, this.filePath);
    this.close();
    this.file = replacement;
    this.size = rows.length;
    this.unwritten = Buffer.alloc(0);
  }
}

/** Nothing where there is none. The steps that a file would say are not guessed where something else is in its place. */
function readText(file: string): string {
  try {
    return new TextDecoder().decode(readPlainFileSync(file, LARGEST_BYTES));
  } catch (error) {
    if (isMissing(error)) return '';
    if (!(error instanceof NoPlainFile)) throw error;
    throw new DomainError(
      'bad-config',
      `${file} cannot be read: ${error.reason}. Move it away, and put the file back if there was one.`,
    );
  }
}

function rowOf(model: string, step: number): string {
  return `${JSON.stringify({ model, step })}\n`;
}

function parseRow(line: string): z.infer<typeof AppliedStep> | null {
  try {
    return AppliedStep.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
