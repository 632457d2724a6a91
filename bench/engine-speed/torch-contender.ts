import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import type { BenchModel } from './bench-model';
import { ADAM } from './contenders';
import type { Contender, Timing, TrainingBatch } from './contenders';

const Answer = z.object({
  wallMs: z.number().default(0),
  cpuMs: z.number().default(0),
  loss: z.number().default(NaN),
  version: z.string().default(''),
});

const CPU_INDEX = 'https://download.pytorch.org/whl/cpu';

/** A Python with PyTorch, made on first use; null where this machine has no Python or cannot install it. */
export function findPython(say: (line: string) => void): string | null {
  const folder = path.join(homedir(), '.cache', 'everstep', 'bench-torch');
  const python = path.join(folder, 'bin', 'python');
  const marker = path.join(folder, 'ready');
  if (existsSync(marker)) return python;
  try {
    say(`Making a Python environment with PyTorch in ${folder} ...`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'pipe' });
    installTorch(python);
    writeFileSync(marker, '');
    return python;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    say(`No PyTorch: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

function installTorch(python: string): void {
  const pip = (...args: string[]): void => {
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', ...args], { stdio: 'pipe' });
  };
  try {
    pip('--retries', '0', 'numpy', 'torch', '--index-url', CPU_INDEX);
  } catch {
    pip('numpy', 'torch');
  }
}

/** PyTorch in a process of its own, asked over its stdin. */
export class TorchContender implements Contender {
  version = '';
  private readonly child: ChildProcessByStdio<Writable, Readable, null>;
  private readonly lines: AsyncIterator<string>;

  constructor(
    python: string,
    private readonly options: { readonly threads: number; readonly isFused: boolean; readonly cache: string },
  ) {
    const script = path.join(__dirname, 'torch_peer.py');
    this.child = spawn(python, [script, JSON.stringify({ threads: options.threads, cache: options.cache })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  async start(): Promise<void> {
    this.version = (await this.read()).version;
  }

  async load({ folder }: BenchModel): Promise<void> {
    await this.ask({ do: 'load', folder, adam: { ...ADAM, fused: this.options.isFused } });
  }

  async setBatch(batch: TrainingBatch): Promise<void> {
    await this.ask({ do: 'batch', ...batch });
  }

  async loss(): Promise<number> {
    return (await this.ask({ do: 'loss' })).loss;
  }

  async train(steps: number): Promise<Timing> {
    return this.ask({ do: 'train', steps });
  }

  async sample(prompts: readonly (readonly number[])[], count: number): Promise<Timing> {
    return this.ask({ do: 'sample', prompts, count });
  }

  async close(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.stdin.end();
    await exited;
  }

  private async ask(message: object): Promise<z.infer<typeof Answer>> {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
    return this.read();
  }

  private async read(): Promise<z.infer<typeof Answer>> {
    const next = await this.lines.next();
    if (next.done === true) throw new Error('The PyTorch process ended; its message is above.');
    return Answer.parse(JSON.parse(next.value));
  }
}
