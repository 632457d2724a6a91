import { DomainError } from '../../core/errors';
import type { BoundedText } from '../bounded-text';
import type { Lease } from '../leases/leases';
import type { ExecOptions, ExecResult, Sandbox, SandboxLimit, SandboxLimits, SilenceLimit } from '../sandbox';
import { checkedPath, checkReadSize, DEFAULT_LIMITS, DEFAULT_TIMEOUT_MS, sandboxLost } from '../sandbox';
import { toldLimit } from '../told-limit';
import { answerInTime, ANSWER_LIMIT_MS } from './answer-in-time';
import { attendProgram } from './attended-program';
import type { TogetherLimits } from './container-options';
import { togetherLimits } from './container-options';
import type { DockerContainer, DockerEngine } from './docker-engine';

interface DockerParts {
  readonly docker: DockerEngine;
  readonly container: DockerContainer;
  readonly lease: Lease;
  /** How long the engine may take to answer; default half a minute. */
  readonly answerLimitMs?: number | undefined;
}

interface Command {
  readonly argv: readonly string[];
  readonly stdin: string | Uint8Array;
  readonly env: Readonly<Record<string, string>>;
  readonly outputBytes: number;
  readonly timeoutMs: number;
  readonly silence?: SilenceLimit | undefined;
  readonly signal: AbortSignal | undefined;
}

interface Outcome {
  readonly stdout: BoundedText;
  readonly stderr: BoundedText;
  readonly exitCode: number | null;
  readonly limit: SandboxLimit | null;
}

const FILE_LIMIT_MS = 30_000;
const FILE_BYTES = 96 * 1024 * 1024;
const CPU_SIGNAL_EXIT = 128 + 24;
const KILLED_EXIT = 128 + 9;
/** What an engine says of a program that it could not start. */
const CANNOT_START = 126;
/** Files are written and read by programs inside, so that a link leads nowhere else. */
const WRITE = 'mkdir -p "$(dirname "./$1")" && rm -f "./$1" && cat > "./$1"';
const READ = 'test -f "./$1" && test ! -L "./$1" && base64 -w 0 "./$1"';

/** Counted by the kernel, in the second or first version of control groups. */
const MEMORY_EVENTS = 'cd /sys/fs/cgroup && cat memory.events memory/memory.oom_control 2>/dev/null';

/** One container, for one program after another. */
export class DockerSandbox implements Sandbox {
  readonly kind = 'docker';
  private isOver = false;
  private outOfMemoryCount = 0;
  /** What the container's processes may take together at present. */
  private held = togetherLimits(DEFAULT_LIMITS);

  constructor(private readonly parts: DockerParts) {}

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    options.signal?.throwIfAborted();
    const start = performance.now();
    await this.holdTo(togetherLimits(limits));
    const outcome = await this.run({
      argv: ['sh', '-c', limitScript(limits), 'sh', ...argv],
      stdin: options.stdin ?? '',
      env: options.env ?? {},
      outputBytes: limits.outputBytes,
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      silence: options.silence,
      signal: options.signal,
    });
    const result = await this.resultOf(outcome);
    await this.endPrograms();
    options.signal?.throwIfAborted();
    return { ...result, seconds: (performance.now() - start) / 1000 };
  }

  async writeFile(file: string, content: string | Uint8Array): Promise<void> {
    const { exitCode, stderr } = await this.run({
      ...FILE_COMMAND,
      argv: ['sh', '-c', WRITE, 'sh', checkedPath(file)],
      stdin: content,
    });
    if (exitCode === 0) return;
    throw new DomainError('refused', `sandbox: ${file} cannot be written: ${stderr.text.trim()}.`);
  }

  async readFile(file: string): Promise<Uint8Array> {
    const { exitCode, stdout } = await this.run({
      ...FILE_COMMAND,
      argv: ['sh', '-c', READ, 'sh', checkedPath(file)],
      stdin: '',
    });
    checkReadSize(file, (stdout.totalBytes / 4) * 3);
    if (exitCode === 0) return Buffer.from(stdout.text, 'base64');
    throw new DomainError('refused', `sandbox: there is no plain file ${file} in the working folder.`);
  }

  async close(): Promise<void> {
    await this.removeContainer();
    await this.parts.lease.release();
  }

  private async holdTo(wanted: TogetherLimits): Promise<void> {
    const isHeld = wanted.Memory === this.held.Memory && wanted.PidsLimit === this.held.PidsLimit;
    if (isHeld || this.isOver) return;
    try {
      await this.answer(this.parts.container.update(wanted));
    } catch (cause) {
      throw sandboxLost('docker', String(cause), cause);
    }
    this.held = wanted;
  }

  /**
   * Everything inside but the container's first process, which no signal from inside reaches. Where a program has taken all
   * processes there may be, none can be started to end them: the container goes instead, and what is known of the program stands.
   */
  private async endPrograms(): Promise<void> {
    try {
      const ending = { ...FILE_COMMAND, argv: ['sh', '-c', 'kill -9 -1'], stdin: '' };
      const { exitCode, limit } = await this.run(ending);
      if (limit === null && exitCode !== CANNOT_START) return;
    } catch (error) {
      if (!isSandboxLost(error)) throw error;
    }
    this.isOver = true;
    await this.removeContainer();
  }

  private async removeContainer(): Promise<void> {
    const { container } = this.parts;
    // Somebody else removed it, or the reaper of the next process does.
    await this.answer(container.remove({ force: true, v: true })).catch(() => undefined);
  }

  private async inspectContainer() {
    try {
      return await this.answer(this.parts.container.inspect());
    } catch (cause) {
      throw sandboxLost('docker', String(cause), cause);
    }
  }

  /** An engine that hangs is one that is gone. */
  private answer<Result>(work: Promise<Result>): Promise<Result> {
    return answerInTime(work, this.parts.answerLimitMs ?? ANSWER_LIMIT_MS);
  }

  private async run(command: Command): Promise<Outcome> {
    command.signal?.throwIfAborted();
    if (this.isOver) throw sandboxLost('docker', 'its container was removed');
    try {
      return await this.runInside(command);
    } catch (cause) {
      if (cause instanceof DomainError) throw cause;
      throw sandboxLost('docker', String(cause), cause);
    }
  }

  private async runInside(command: Command): Promise<Outcome> {
    const { docker, container } = this.parts;
    const exec = await this.answer(
      container.exec({
        Cmd: command.argv,
        Env: Object.entries(command.env).map(([name, value]) => `${name}=${value}`),
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
      }),
    );
    const stream = await this.answer(exec.start({ hijack: true, stdin: true }));
    const { stdout, stderr, limit } = await attendProgram(docker, stream, command);
    // Also after a limit: an engine that is gone says nothing of the program.
    const { ExitCode } = await this.answer(exec.inspect());
    return { stdout, stderr, exitCode: limit === null ? ExitCode : null, limit };
  }

  /** Whether the kernel has ended a process for memory since it was last asked: engines may tell it of a container's first process alone. */
  private async ranOutOfMemory(): Promise<boolean> {
    const asking = { ...FILE_COMMAND, argv: ['sh', '-c', MEMORY_EVENTS], stdin: '' };
    const { stdout } = await this.run(asking);
    const count = Number(/^oom_kill (\d+)$/m.exec(stdout.text)?.[1] ?? 0);
    if (count <= this.outOfMemoryCount) return false;
    this.outOfMemoryCount = count;
    return true;
  }

  private async resultOf({ stdout, stderr, exitCode, limit }: Outcome): Promise<Omit<ExecResult, 'seconds'>> {
    const output = {
      stdout: stdout.text,
      stderr: stderr.text,
      isStdoutCut: stdout.isCut,
      isStderrCut: stderr.isCut,
    };
    if (limit !== null) return { ...output, exitCode: null, limit };
    const { State } = await this.inspectContainer();
    if (!State.Running) throw sandboxLost('docker', 'its container ended');
    if (exitCode === null) throw sandboxLost('docker', 'the engine does not say how the program ended');
    if (exitCode === CPU_SIGNAL_EXIT) return { ...output, exitCode: null, limit: 'cpu' };
    if (exitCode === KILLED_EXIT && (State.OOMKilled || (await this.ranOutOfMemory())))
      return { ...output, exitCode: null, limit: 'memory' };
    return { ...output, exitCode, limit: toldLimit(exitCode, output.stderr) };
  }
}

const FILE_COMMAND: Omit<Command, 'argv' | 'stdin'> = {
  env: {},
  outputBytes: FILE_BYTES,
  timeoutMs: FILE_LIMIT_MS,
  signal: undefined,
};

/** The container's limits are those of all programs; a program's own are set before it starts. */
function limitScript({ cpuSeconds, memoryBytes, diskBytes }: SandboxLimits): string {
  const cpu = Math.ceil(cpuSeconds);
  const limits = [
    `ulimit -S -t ${cpu}`,
    `ulimit -H -t ${cpu + 1}`,
    `ulimit -d ${Math.ceil(memoryBytes / 1024)}`,
    `ulimit -f ${Math.ceil(diskBytes / 512)}`,
    'ulimit -c 0',
  ];
  return `${limits.join(' && ')} && exec "$@"`;
}

function isSandboxLost(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'sandbox-lost';
}
