/** Where a waiting person sees what is done for them. */
export interface Progress {
  /** A line that stays. */
  readonly note: (text: string) => void;
  /** What goes on at this moment, told again every second; null when it is over. */
  readonly status: (text: string | null) => void;
}

export const SILENT_PROGRESS: Progress = { note: () => undefined, status: () => undefined };

const SPACING_MS = 15_000;

/** Where nothing can be redrawn, a line at the beginning and now and then one that says how far it is. */
export function spacedProgress(note: (text: string) => void, spacingMs = SPACING_MS): Progress {
  let lastAt: number | null = null;
  return {
    note,
    status: (text) => {
      const now = performance.now();
      if (text === null) lastAt = null;
      else if (lastAt === null || now - lastAt >= spacingMs) {
        lastAt = now;
        note(text);
      }
    },
  };
}

interface TextStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const CLEAR_LINE = '\r\u001b[2K';

/** On a terminal one line that is redrawn, elsewhere a line now and then. */
export function streamProgress(stream: TextStream): Progress {
  if (stream.isTTY !== true) return spacedProgress((text) => stream.write(`${text}\n`));
  let shown: string | null = null;
  const draw = (text: string | null): void => {
    if (shown !== null) stream.write(CLEAR_LINE);
    shown = text === null ? null : fitLine(text, stream.columns);
    if (shown !== null) stream.write(shown);
  };
  return {
    note: (text) => {
      const before = shown;
      draw(null);
      stream.write(`${text}\n`);
      draw(before);
    },
    status: draw,
  };
}

/** A line that wraps cannot be redrawn. */
export function fitLine(text: string, columns = 80): string {
  return text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2))}…`;
}
