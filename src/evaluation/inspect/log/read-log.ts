import { open, readFile, stat } from 'node:fs/promises';
import type { z } from 'zod';
import { hasErrorCode } from '../../../core/error-code';
import { DomainError } from '../../../core/errors';
import { countJsonParts } from '../../../core/json-parts';
import { unreadableKind } from '../../../datasets/local-files';
import { LogHeader, LoggedSample } from './log-schema';
import { parseTolerantJson } from './tolerant-json';
import { ZipMembers } from './zip-members';

export interface LogLimits {
  readonly members: number;
  readonly memberBytes: number;
  /** Of a log that is one JSON document. */
  readonly documentBytes: number;
  /** Lists and objects of a member, or of a log that is one JSON document; and how deep they lie in one another. */
  readonly parts: number;
  /** Of the objects of the same. */
  readonly keys: number;
  readonly depth: number;
}

/** What a log is that a machine made and nobody built to do harm: agents' samples come to tens of megabytes. */
const LIMITS: LogLimits = {
  members: 2_000_000,
  memberBytes: 256 * 1024 * 1024,
  documentBytes: 480 * 1024 * 1024,
  parts: 4_000_000,
  keys: 8_000_000,
  depth: 500,
};

/** A log of Inspect AI, open for reading. */
export interface InspectLog {
  readonly path: string;
  readonly header: LogHeader;
  /** In the order of the log; each is read when it is asked for. */
  samples(): AsyncGenerator<LoggedSample>;
  close(): void;
}

const NAME_A_LOG = 'Name an .eval or .json file of Inspect AI.';
const CONVERT =
  'One JSON document is read sample by sample once it is converted: inspect log convert --to eval.';
const ZIP_START = Buffer.from('PK');
const SAMPLE = /^samples\/.+_epoch_\d+\.json$/s;

/**
 * Opens a log in either form: `.eval`, a zip whose members are packed with Zstandard, deflate or not at all, or one JSON document.
 * What a log holds is bounded before it is unpacked, and no name in it becomes a path.
 */
export async function openInspectLog(path: string, limits: LogLimits = LIMITS): Promise<InspectLog> {
  try {
    await requirePlain(path);
    return (await isZip(path)) ? await openArchive(path, limits) : await openDocument(path, limits);
  } catch (error) {
    throw explain(path, error);
  }
}

/** Whoever opens a pipe waits for its writer. */
async function requirePlain(path: string): Promise<void> {
  const kind = unreadableKind(path, await stat(path));
  if (kind === null) return;
  throw new DomainError('bad-config', `${path}: ${kind}. ${NAME_A_LOG}`);
}

async function isZip(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.equals(ZIP_START);
  } finally {
    await file.close();
  }
}

async function openArchive(path: string, limits: LogLimits): Promise<InspectLog> {
  const members = await ZipMembers.open(path, limits);
  try {
    const header = await readHeader(members, limits);
    return {
      path,
      header,
      async *samples() {
        for (const name of members.names.filter((each) => SAMPLE.test(each))) {
          yield await explained(path, async () =>
            parse(LoggedSample, { text: (await members.read(name)) ?? '', name, limits }),
          );
        }
      },
      close() {
        members.close();
      },
    };
  } catch (error) {
    members.close();
    throw error;
  }
}

/** An evaluation that is under way, or was killed, has no `header.json` yet. */
async function readHeader(members: ZipMembers, limits: LogLimits): Promise<LogHeader> {
  for (const name of ['header.json', '_journal/start.json']) {
    const text = await members.read(name);
    if (text !== null) return parse(LogHeader, { text, name, limits });
  }
  throw new DomainError('bad-dataset', 'It has neither header.json nor _journal/start.json.');
}

async function openDocument(path: string, limits: LogLimits): Promise<InspectLog> {
  const { size } = await stat(path);
  if (size > limits.documentBytes) {
    throw new DomainError(
      'bad-dataset',
      `It has ${size} bytes; ${limits.documentBytes} are read. ${CONVERT}`,
    );
  }
  const document = parseJson({ text: await readFile(path, 'utf8'), name: 'the log', limits });
  const header = check(LogHeader, document, 'the log');
  return {
    path,
    header,
    async *samples() {
      for (const [index, sample] of samplesOf(document).entries()) {
        yield await explained(path, () => Promise.resolve(check(LoggedSample, sample, `sample ${index}`)));
      }
    },
    close() {
      // Nothing is open.
    },
  };
}

function samplesOf(document: unknown): readonly unknown[] {
  const samples =
    typeof document === 'object' && document !== null && 'samples' in document ? document.samples : null;
  return Array.isArray(samples) ? samples : [];
}

interface JsonText {
  readonly text: string;
  /** What messages call it. */
  readonly name: string;
  readonly limits: LogLimits;
}

function parse<Schema extends z.ZodType>(schema: Schema, json: JsonText): z.infer<Schema> {
  return check(schema, parseJson(json), json.name);
}

function parseJson({ text, name, limits }: JsonText): unknown {
  const { parts, keys, depth } = countJsonParts(text);
  if (parts > limits.parts || keys > limits.keys || depth > limits.depth) {
    throw new DomainError(
      'bad-dataset',
      `${name.slice(0, 200)} holds ${parts} lists and objects with ${keys} keys, ${depth} deep in one another; ${limits.parts} with ${limits.keys} keys are read, ${limits.depth} deep. ${CONVERT}`,
    );
  }
  try {
    return parseTolerantJson(text);
  } catch {
    throw new DomainError('bad-dataset', `${name.slice(0, 200)} is not valid JSON.`);
  }
}

function check<Schema extends z.ZodType>(schema: Schema, value: unknown, name: string): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new DomainError(
    'bad-dataset',
    `${name.slice(0, 200)}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not as expected'}.`,
  );
}

async function explained<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw explain(path, error);
  }
}

function explain(path: string, error: unknown): DomainError {
  if (hasErrorCode(error, 'ENOENT', 'ENOTDIR'))
    return new DomainError('bad-config', `${path}: there is no such log. ${NAME_A_LOG}`);
  if (error instanceof DomainError && error.code === 'bad-config') return error;
  const reason = error instanceof DomainError ? error.message : reasonOf(error);
  return new DomainError(
    'bad-dataset',
    `${path} cannot be read as a log of Inspect AI. ${reason} ${remedyFor(reason)}`,
    { cause: error },
  );
}

/** The end of an archive says what is in it: without it Inspect has no remedy either. */
function remedyFor(reason: string): string {
  return reason.includes('End of central directory')
    ? 'It is cut off or still being written: copy it again, or run the task again.'
    : 'Look at it with: inspect log dump';
}

function reasonOf(error: unknown): string {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  return `${String(message).replace(/\.$/, '')}.`;
}
