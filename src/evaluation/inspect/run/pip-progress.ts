import { readdirSync } from 'node:fs';
import path from 'node:path';

interface PipProgressOptions {
  readonly onProgress: (text: string) => void;
  /** Default every ten seconds. */
  readonly tellEveryMs?: number;
}

const TOLD_PACKAGES = 20;
const TELL_EVERY_MS = 10_000;
const UNPACKING = 'Installing collected packages:';

/**
 * How far an installation is. Pip tells each package when it begins to fetch it: every so many are told. While it unpacks them,
 * the longest part on a slow disk, it says nothing: what lies in the environment is counted.
 */
export class PipProgress {
  private foundCount = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    /** Of the environment. */
    private readonly folder: string,
    private readonly options: PipProgressOptions,
  ) {}

  /** A line that pip writes. */
  hear(line: string): void {
    const { onProgress } = this.options;
    if (line.startsWith('Collecting ') && ++this.foundCount % TOLD_PACKAGES === 0)
      onProgress(`        ${this.foundCount} packages found so far …`);
    if (line.startsWith(UNPACKING)) this.watch(line.slice(UNPACKING.length).split(',').length);
  }

  end(): void {
    clearInterval(this.timer);
  }

  private watch(count: number): void {
    const { onProgress, tellEveryMs = TELL_EVERY_MS } = this.options;
    const before = packagesIn(this.folder);
    onProgress(`        downloaded; unpacking ${count} packages …`);
    this.end();
    this.timer = setInterval(() => {
      const done = Math.min(count, Math.max(0, packagesIn(this.folder) - before));
      onProgress(`        ${done} of ${count} packages unpacked …`);
    }, tellEveryMs);
  }
}

/** Each has a folder that says what it is, which is written as it is unpacked. */
function packagesIn(folder: string): number {
  const library = path.join(folder, 'lib');
  const pythons = namesIn(library).filter((name) => name.startsWith('python'));
  const packages = pythons.flatMap((name) => namesIn(path.join(library, name, 'site-packages')));
  return packages.filter((name) => name.endsWith('.dist-info')).length;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
