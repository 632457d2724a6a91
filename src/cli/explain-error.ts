import { withoutFullStop } from '../core/strip-ends';
import { DomainError } from '../core/errors';
import { escapeControls } from './escape-controls';
import { OutputError } from './output-error';

interface SystemError {
  readonly code: string;
  readonly message: string;
  readonly path?: string;
  readonly syscall: string;
  readonly address?: string;
  readonly port?: number;
}

const ELSEWHERE = 'choose another folder with --data-dir or --store';

/** What the operating system refuses, and what to do about it. */
const REFUSALS: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  EADDRINUSE: [
    'another program has this port already',
    'Give another one with --port, or end the other program.',
  ],
  EADDRNOTAVAIL: ['this machine has no such address', 'Give one of its own with --host.'],
  EACCES: ['permission denied', `Get permission, or ${ELSEWHERE}.`],
  EDQUOT: ['the disk quota is used up', `Make room, or ${ELSEWHERE}.`],
  EEXIST: ['a file is in the way', `Remove it, or ${ELSEWHERE}.`],
  EFBIG: ['the file is larger than it may be', `Raise the limit (ulimit -f), or ${ELSEWHERE}.`],
  EIO: ['the disk does not work', `Repair it, or ${ELSEWHERE}.`],
  EISDIR: ['a folder is where a file should be', `Remove it, or ${ELSEWHERE}.`],
  EMFILE: ['too many files are open', 'Raise the limit (ulimit -n).'],
  ENAMETOOLONG: ['the name is too long', `Shorten it, or ${ELSEWHERE}.`],
  ENOENT: ['no such file or folder', `Create it, or ${ELSEWHERE}.`],
  ENOSPC: ['no space is left on the disk', `Make room, or ${ELSEWHERE}.`],
  ENOTDIR: ['a file is where a folder should be', `Remove it, or ${ELSEWHERE}.`],
  EPERM: ['not permitted', `Get permission, or ${ELSEWHERE}.`],
  EROFS: ['the disk is read-only', `Make it writable, or ${ELSEWHERE}.`],
};

const NOT_FOUND = 5;
/** By gRPC's numbers: what the Temporal server did with a call that nobody expected to fail. */
const SERVER_FAILURES: Readonly<Record<number, string>> = {
  4: 'The Temporal server took too long to answer.',
  [NOT_FOUND]:
    'The Temporal server does not know what it was asked for; one that has just been started, or whose database fails, may not know its own namespace.',
  7: 'The Temporal server does not permit this.',
  8: 'The Temporal server is too busy.',
  13: 'The Temporal server failed.',
  14: 'The Temporal server does not answer.',
  16: 'The Temporal server wants to know who asks: check the key or certificate of TEMPORAL_ADDRESS.',
};

/** What a person is told of an error: one line, unless it lists problems. The stack trace is for those who look for it. */
export function explainError(error: unknown, { isDebugging }: { readonly isDebugging: boolean }): string {
  if (error instanceof DomainError) return explainDomainError(error);
  const trace = isDebugging ? traceOf(error) : '';
  if (error instanceof OutputError) return `${explainOutputError(error)}${trace}`;
  if (isSystemError(error)) return `${explainSystemError(error)}${trace}`;
  const refused = serverRefusal(error);
  if (refused !== null) return `${refused}${trace}`;
  const message = escapeControls(firstLine(error instanceof Error ? error.message : String(error)));
  const remedy = isDebugging ? '' : ' EVERSTEP_LOG_LEVEL=debug shows where it happened.';
  return `Unexpected error: ${message || 'without a message'}${/[.!?]$/.test(message) ? '' : '.'}${remedy}${trace}`;
}

/** In this very process a store that cannot be used is a wrong choice as a rule, and nothing waits for it. */
function explainDomainError({ code, message, cause }: DomainError): string {
  const isPlaced = code === 'store-full' && isSystemError(cause) && cause.path !== undefined;
  return isPlaced ? explainSystemError(cause) : message.split('\n').map(escapeControls).join('\n');
}

/** Null where it is no failed call of the SDK's client, which keeps gRPC's own error as its cause. */
function serverRefusal(error: unknown): string | null {
  const refused = refusalOf(error);
  if (refused === null) return null;
  const said = withoutFullStop(escapeControls(firstLine(refused.details)));
  const words = said === '' ? '' : ` It says: ${said}.`;
  return `${SERVER_FAILURES[refused.code] ?? ''}${words} \`npx everstep doctor\` looks at it; give the command again once it answers.`;
}

interface Refusal {
  readonly code: number;
  readonly details: string;
}

/** Of a namespace that the server does not know the SDK makes an error of its own, without gRPC's. */
function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Error && error.name === 'NamespaceNotFoundError')
    return { code: NOT_FOUND, details: error.message };
  const cause: unknown = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isCallError(cause) ? cause : null;
}

function isCallError(cause: unknown): cause is Refusal {
  return (
    typeof cause === 'object' &&
    cause !== null &&
    'code' in cause &&
    typeof cause.code === 'number' &&
    cause.code in SERVER_FAILURES &&
    'details' in cause &&
    typeof cause.details === 'string'
  );
}

function explainOutputError({ place, elsewhere, cause }: OutputError): string {
  const { code, message } = isSystemError(cause) ? cause : { code: '', message: String(cause) };
  const [what, remedy] = REFUSALS[code] ?? [firstLine(message), ''];
  return `${escapeControls(place)}: ${what} (${code}). ${remedy.replace(ELSEWHERE, elsewhere)}`.trim();
}

function explainSystemError(error: SystemError): string {
  const { code, path, syscall, message } = error;
  const [what, remedy] = REFUSALS[code] ?? [firstLine(message), ''];
  const where = path === undefined ? placeOf(error) : `${escapeControls(path)} (${syscall})`;
  return `${where}: ${what} (${code}). ${remedy}`.trim();
}

function placeOf({ syscall, address, port }: SystemError): string {
  return address === undefined || port === undefined ? syscall : `${syscall} ${address}:${port}`;
}

function isSystemError(error: unknown): error is SystemError {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^E[A-Z0-9]+$/.test(error.code) &&
    'syscall' in error &&
    typeof error.syscall === 'string'
  );
}

function traceOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'stack' in error ? `\n${String(error.stack)}` : '';
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1).join('');
}
