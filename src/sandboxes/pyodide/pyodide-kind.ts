import { DomainError } from '../../core/errors';
import type { Lease, Leases } from '../leases/leases';
import type { Availability, ExecOptions, ExecResult, Sandbox, SandboxKind, SandboxLimits } from '../sandbox';
import { checkedPath, checkReadSize, DEFAULT_LIMITS, DEFAULT_TIMEOUT_MS, sandboxLost } from '../sandbox';
import { toldLimit } from '../told-limit';
import { PyodideInterpreter } from './pyodide-interpreter';

/** Python compiled to WebAssembly, in a process of its own. Needs nothing to be installed and runs Python alone. */
export class PyodideKind implements SandboxKind {
  readonly name = 'pyodide';
  readonly isSlowToOpen = true;

  constructor(private readonly leases: Leases) {}

  availability(): Promise<Availability> {
    return Promise.resolve({ isAvailable: true, found: 'embedded; Python programs only' });
  }

  async open(): Promise<Sandbox> {
    const lease = await this.leases.open();
    try {
      return new PyodideSandbox(lease, await PyodideInterpreter.start(lease, DEFAULT_LIMITS));
    } catch (error) {
      await lease.release();
      throw error;
    }
  }
}

const READ_LIMIT_MS = 30_000;

/**
 * A program that exceeds a limit takes its interpreter with it; the next one runs in a new one, with the files that were
 * written from outside, but not those that programs wrote.
 */
class PyodideSandbox implements Sandbox {
  readonly kind = 'pyodide';
  private readonly files = new Map<string, string>();
  private readonly placed = new Set<string>();
  private limits: SandboxLimits = DEFAULT_LIMITS;

  constructor(
    private readonly lease: Lease,
    private interpreter: PyodideInterpreter,
  ) {}

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    options.signal?.throwIfAborted();
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    const interpreter = await this.interpreterFor(limits);
    const start = performance.now();
    const text = JSON.stringify({
      files: this.newFiles(),
      argv,
      stdin: options.stdin ?? '',
      env: options.env ?? {},
      outputBytes: limits.outputBytes,
      cpuMs: limits.cpuSeconds * 1000,
      ...(options.silence && { silence: options.silence }),
    });
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const line = await interpreter.ask({ text, timeoutMs, signal: options.signal });
    return { ...this.resultOf(line), seconds: (performance.now() - start) / 1000 };
  }

  writeFile(file: string, content: string | Uint8Array): Promise<void> {
    const place = checkedPath(file);
    this.files.set(place, Buffer.from(content).toString('base64'));
    this.placed.delete(place);
    return Promise.resolve();
  }

  async readFile(file: string): Promise<Uint8Array> {
    const place = checkedPath(file);
    const waiting = this.placed.has(place) ? undefined : this.files.get(place);
    if (waiting !== undefined) return Buffer.from(waiting, 'base64');
    const interpreter = await this.interpreterFor(this.limits);
    const question = { text: JSON.stringify({ read: place }), timeoutMs: READ_LIMIT_MS, signal: undefined };
    const content = fieldsOf(await interpreter.ask(question))['content'];
    if (typeof content === 'string') {
      checkReadSize(file, (content.length / 4) * 3);
      return Buffer.from(content, 'base64');
    }
    throw new DomainError('refused', `sandbox: there is no plain file ${file} in the working folder.`);
  }

  /** An interpreter as new in the same process, which has taken limits of memory and files from the first. */
  async renew(): Promise<Sandbox | null> {
    const { memoryBytes, diskBytes } = this.limits;
    const isUsual = memoryBytes === DEFAULT_LIMITS.memoryBytes && diskBytes === DEFAULT_LIMITS.diskBytes;
    if (!isUsual || !this.interpreter.isAlive) return null;
    return (await this.interpreter.renew()) ? new PyodideSandbox(this.lease, this.interpreter) : null;
  }

  async close(): Promise<void> {
    this.interpreter.kill();
    await this.lease.release();
  }

  /** Memory and files are bounded when an interpreter starts. */
  private async interpreterFor(limits: SandboxLimits): Promise<PyodideInterpreter> {
    const { memoryBytes, diskBytes } = this.limits;
    const isSame = memoryBytes === limits.memoryBytes && diskBytes === limits.diskBytes;
    if (this.interpreter.isAlive && isSame) return this.interpreter;
    this.interpreter.kill();
    this.placed.clear();
    this.limits = limits;
    this.interpreter = await PyodideInterpreter.start(this.lease, limits);
    return this.interpreter;
  }

  private newFiles(): Record<string, string> {
    const fresh = [...this.files].filter(([place]) => !this.placed.has(place));
    for (const [place] of fresh) this.placed.add(place);
    return Object.fromEntries(fresh);
  }

  private resultOf(line: string | null): Omit<ExecResult, 'seconds'> {
    if (line === null) return ended('time');
    const answer = fieldsOf(line);
    const { limit, exitCode } = answer;
    if (limit === 'cpu' || limit === 'memory' || limit === 'time') return this.afterEnd(ended(limit));
    if ('ended' in answer) return this.afterEnd(crashed(answer));
    const stderr = textOf(answer['stderr']);
    const output = {
      stdout: textOf(answer['stdout']),
      stderr,
      isStdoutCut: answer['isStdoutCut'] === true,
      isStderrCut: answer['isStderrCut'] === true,
    };
    if (limit === 'output') return { ...output, exitCode: null, limit };
    if (typeof exitCode !== 'number') throw sandboxLost('pyodide', 'its answer cannot be read');
    return { ...output, exitCode, limit: toldLimit(exitCode, stderr) };
  }

  /** The interpreter cannot be used any more. */
  private afterEnd(result: Omit<ExecResult, 'seconds'>): Omit<ExecResult, 'seconds'> {
    this.interpreter.kill();
    return result;
  }
}

/** How a shell tells that a program aborted. */
const ABORTED = 134;

function crashed({ ended: status, why }: Readonly<Record<string, unknown>>): Omit<ExecResult, 'seconds'> {
  const exitCode = typeof status === 'number' ? status & 0xff : ABORTED;
  return { ...ended(null), exitCode, stderr: textOf(why) };
}

function ended(limit: ExecResult['limit']): Omit<ExecResult, 'seconds'> {
  return { exitCode: null, stdout: '', stderr: '', isStdoutCut: false, isStderrCut: false, limit };
}

function fieldsOf(line: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line ?? '');
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch {
    // Said below.
  }
  throw sandboxLost('pyodide', 'its answer cannot be read');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
