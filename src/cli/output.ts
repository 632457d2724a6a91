/**
 * Where a command's words go.
 *
 * With `--json` standard output carries one JSON document and nothing else; what a person may want to know besides
 * goes to standard error. Colour and bars appear only on a terminal, and never where NO_COLOR is set.
 */
import type { Writable } from 'node:stream';
import picocolors from 'picocolors';
import { escapeControls, escapeInJson } from './escape-controls';
import { EXIT } from './exit-codes';
import { explainError } from './explain-error';
import { commandHint, withPlaces } from './hints';
import { OutputError } from './output-error';
import type { PlaceFlags } from './service-options';

type Colors = ReturnType<typeof picocolors.createColors>;

interface OutputStream extends Pick<Writable, 'write'> {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface OutputOptions {
  readonly json: boolean;
  /** Where the command was told to look; commands that are suggested look there too. */
  readonly places?: PlaceFlags;
  /** False without a terminal, with NO_COLOR, or where the terminal has none. */
  readonly color?: boolean;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

export interface Output {
  readonly isJson: boolean;
  /** A person is looking: bars may be redrawn. */
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly colors: Colors;
  /** One line of the answer; left out with `--json`. */
  line(text?: string): void;
  /** A remark beside the answer. */
  note(text: string): void;
  /** A remark only for a person who waits: left out where standard error is no terminal. */
  reassure(text: string): void;
  /** The answer with `--json`. */
  document(value: unknown): void;
  /** A command to suggest, as it can be typed here. */
  hint(words: string): string;
  /** What a layer below says, with the commands in it as they can be typed here. Not for what a model wrote. */
  advice(text: string): string;
  /** The same for a list of such texts, e.g. of a document. */
  adviceOf(texts: readonly string[]): string[];
  /** Redraws the lines at the bottom of the terminal, none of which may wrap; `null` takes them away. Nothing elsewhere. */
  status(text: string | null): void;
}

/** Output on the streams of this process. A reader that has seen enough (`| head`) ends the command quietly. */
export function openOutput({ json = false, ...places }: PlaceFlags & { readonly json?: boolean }): Output {
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', endForReader);
  return createOutput({ json, places, stdout: process.stdout, stderr: process.stderr });
}

/** There is nobody who would catch it: what could not be printed is told on standard error. */
export function endForReader(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  const told = new OutputError('standard output', 'send it elsewhere', error);
  process.stderr.write(`everstep: ${explainError(told, { isDebugging: false })}\n`);
  process.exit(EXIT.failed);
}

export function createOutput(options: OutputOptions): Output {
  const { json, places = {}, stdout, stderr, color = picocolors.isColorSupported } = options;
  const isTerminal = !json && stdout.isTTY === true;
  let statusText: string | null = null;

  const clear = () => {
    if (statusText === null) return;
    const lineCount = statusText.split('\n').length;
    stdout.write(lineCount === 1 ? '\r\u001b[2K' : `\r\u001b[${lineCount - 1}A\u001b[J`);
  };
  const withoutStatus = (write: () => void) => {
    clear();
    write();
    if (statusText !== null) stdout.write(statusText);
  };

  const note = (text: string) => {
    // Names of files, keys and runs may be anybody's: no caller has to remember it.
    const shown = text.split('\n').map(escapeControls).join('\n');
    withoutStatus(() => stderr.write(`${withPlaces(shown, places)}\n`));
  };

  return {
    isJson: json,
    isTerminal,
    columns: stdout.columns ?? 80,
    colors: picocolors.createColors(isTerminal && color),
    line(text = '') {
      if (!json) withoutStatus(() => stdout.write(`${text}\n`));
    },
    note,
    reassure(text) {
      if (stderr.isTTY === true) note(text);
    },
    document(value) {
      if (json) stdout.write(`${escapeInJson(JSON.stringify(value, null, 2))}\n`);
    },
    hint: (words) => commandHint(words, places),
    advice: (text) => withPlaces(text, places),
    adviceOf: (texts) => texts.map((text) => withPlaces(text, places)),
    status(text) {
      if (!isTerminal) return;
      clear();
      statusText = text;
      if (text !== null) stdout.write(text);
    },
  };
}
