import path from 'node:path';
import { shellWord } from '../core/shell-word';
import type { Variables } from './environment';

interface Call {
  /** What Node was told to run: an absolute path, links unresolved. */
  readonly program?: string | undefined;
  readonly folder?: string;
  readonly variables?: Variables;
}

const BY_NPX = 'npx everstep';
/** The file itself, or the link that npm makes where the package is installed. */
const OWN_FILE = /\/(?:bin\/everstep\.js|\.bin\/everstep)$/;

/** How messages begin a command, wherever they are written; prose (`an everstep worker`) is none. */
const COMMAND = /(?:\bnpx |(?<=^|`|[:,] |\b(?:with|or|e\.g\.) ))everstep(?= [a-z])/g;

/** How this program was called, as it can be typed again in this folder. */
export function howCalled({ program = process.argv[1], folder, variables = process.env }: Call = {}): string {
  if (program === undefined || isStartedByNpx(variables)) return BY_NPX;
  if (path.basename(program) === 'everstep' && isSearched(path.dirname(program), variables))
    return 'everstep';
  return OWN_FILE.test(program) ? shellWord(fromFolder(program, folder ?? process.cwd())) : BY_NPX;
}

/** Suggests the commands of a text in the way this program was called. */
export function asCalled(text: string): string {
  return text.replaceAll(COMMAND, () => howCalled());
}

/** Whether it is npx that started this very program: through a shell, since npm runs all it runs through one. */
export function isStartedByNpx(variables: Variables = process.env): boolean {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = variables;
  return event === 'npx' && /^["']?everstep["']?$/.test(script);
}

function isSearched(folder: string, variables: Variables): boolean {
  return (variables['PATH'] ?? '').split(path.delimiter).includes(folder);
}

function fromFolder(program: string, folder: string): string {
  const relative = path.relative(folder, program);
  if (relative.startsWith('..')) return program;
  return relative.includes(path.sep) ? relative : `./${relative}`;
}
