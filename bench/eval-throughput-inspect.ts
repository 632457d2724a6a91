import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readEnvironment } from '../src/config/environment';
import type { EvalOrder } from './eval-throughput-stack';
import { endedChildrenMs } from './process-costs';

/** The same questions, asked and judged alike: the number of the reply against the number after `####`. */
const TASK = `
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import match
from inspect_ai.solver import generate

@task
def questions(file: str):
    def sample(record):
        return Sample(input=record["question"], target=record["answer"].split("####")[-1].strip())
    return Task(dataset=json_dataset(file, sample), solver=generate(), scorer=match(numeric=True))
`;

export interface InspectCosts {
  readonly seconds: number;
  readonly cpuMs: number;
  readonly startedAt: number;
}

/** Inspect AI in a Python environment of its own. */
export class InspectPeer {
  private constructor(
    private readonly bin: string,
    private readonly folder: string,
  ) {}

  /** Makes the environment on first use; null where that cannot be done. */
  static async open(folder: string, say: (line: string) => void): Promise<InspectPeer | null> {
    const place = path.join(readEnvironment().cacheFolder, 'bench-inspect-1');
    const bin = path.join(place, 'bin');
    try {
      if (!existsSync(path.join(place, '.complete'))) {
        say(`Making a Python environment with Inspect AI in ${place} ...`);
        rmSync(place, { recursive: true, force: true });
        mkdirSync(place, { recursive: true });
        await run(['python3', '-m', 'venv', place]);
        await run([path.join(bin, 'python'), '-m', 'pip', 'install', '--quiet', 'inspect-ai', 'openai']);
        writeFileSync(path.join(place, '.complete'), '');
      }
      writeFileSync(path.join(folder, 'questions.py'), TASK);
      return new InspectPeer(bin, folder);
    } catch (error) {
      say(`No Inspect AI: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }

  async version(): Promise<string> {
    const script = 'import importlib.metadata; print(importlib.metadata.version("inspect-ai"))';
    return (await run([path.join(this.bin, 'python'), '-c', script])).trim();
  }

  async evaluate({ url, questions, concurrency, run: name }: EvalOrder): Promise<InspectCosts> {
    const startedAt = performance.timeOrigin + performance.now();
    const before = endedChildrenMs();
    const limits = ['--max-connections', String(concurrency), '--max-samples', String(concurrency * 2)];
    // By its name alone: Inspect looks for tasks below the folder it runs in.
    const task = ['questions.py', '-T', `file=${questions.file}`];
    await run(
      [
        path.join(this.bin, 'inspect'),
        ...['eval', ...task, '--model', 'openai-api/bench/canned', ...limits],
        ...['--display', 'plain', '--log-dir', path.join(this.folder, `inspect-${name}`)],
      ],
      { cwd: this.folder, env: { BENCH_BASE_URL: url, BENCH_API_KEY: 'none' } },
    );
    return {
      startedAt,
      seconds: (performance.timeOrigin + performance.now() - startedAt) / 1000,
      cpuMs: endedChildrenMs() - before,
    };
  }
}

interface Place {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

async function run([program = '', ...args]: readonly string[], { cwd, env }: Place = {}): Promise<string> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd !== undefined && { cwd }),
  });
  let output = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  child.stderr
    .setEncoding('utf8')
    .on('data', (part: string) => (complaint = (complaint + part).slice(-1000)));
  await once(child, 'close');
  if (child.exitCode !== 0)
    throw new Error(`${path.basename(program)} ended with ${child.exitCode}: ${complaint}`);
  return output;
}
