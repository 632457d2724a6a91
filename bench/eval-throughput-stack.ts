import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { findStack } from '../src/stack/stack-record';
import type { StackRecord } from '../src/stack/stack-record';
import type { Questions } from './eval-throughput-questions';
import type { LiveMemory } from './live-heap';
import { freePort, liveMemory } from './live-heap';
import type { ProcessMemory } from './memory-watch';
import { watchChild, watchMemory } from './memory-watch';
import { cpuMsOf, endedChildrenMs } from './process-costs';
import { firstLine, stopChild } from './services';

export interface EvalOrder {
  readonly run: string;
  readonly url: string;
  readonly questions: Questions;
  readonly concurrency: number;
}

export interface EvalCosts {
  /** Milliseconds since 1970 at which the command was given. */
  readonly startedAt: number;
  /** Of the whole command. */
  readonly seconds: number;
  /** Of the command's process, and of all others of the stack. */
  readonly commandCpuMs: number;
  readonly stackCpuMs: number;
  /** Of the command and of every process of the stack. */
  readonly memory: readonly ProcessMemory[];
  readonly historyBytes: number;
  readonly score: number;
  readonly journalled: number;
}

interface EvalDocument {
  readonly dir: string;
  readonly benchmarks: readonly { readonly score: number; readonly numErrors: number }[];
}

interface CommandEnd {
  readonly document: EvalDocument;
  readonly memory: ProcessMemory;
}

/** `everstep dev` on a folder and ports of its own, and commands given to it as a person gives them. */
export class EvalStack {
  private constructor(
    private readonly launcher: string,
    private readonly folder: string,
    private readonly dev: ChildProcess,
    private readonly record: StackRecord,
    private readonly connection: Connection,
    private readonly inspectPort: number,
  ) {}

  static async start(launcher: string, folder: string): Promise<EvalStack> {
    const args = [
      launcher,
      'dev',
      '--headless',
      '--threads',
      '1',
      '--exit-with-parent',
      '--data-dir',
      folder,
    ];
    const inspectPort = await freePort();
    const flags = `${process.env['NODE_OPTIONS'] ?? ''} --inspect-port=127.0.0.1:${inspectPort}`.trim();
    const env = { ...environment(), NODE_OPTIONS: flags };
    const dev = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
    dev.stderr.resume();
    await firstLine(dev, 'Ready');
    const record = findStack(folder);
    if (!record) throw new Error(`No stack is recorded in ${folder}.`);
    return new EvalStack(
      launcher,
      folder,
      dev,
      record,
      await Connection.connect({ address: record.temporalAddress }),
      inspectPort,
    );
  }

  async stop(): Promise<void> {
    await this.connection.close();
    await stopChild(this.dev);
  }

  async evaluate(order: EvalOrder): Promise<EvalCosts> {
    const processes = [{ name: 'dev', pid: this.devPid }, ...this.record.children];
    const memoryOfStack = watchMemory(processes);
    const [stackBefore, commandsBefore] = [cpuMsOf(this.devPid), endedChildrenMs()];
    const startedAt = performance.timeOrigin + performance.now();
    const { document, memory } = await this.command(order);
    const { dir, benchmarks } = document;
    const seconds = (performance.timeOrigin + performance.now() - startedAt) / 1000;
    const [benchmark] = benchmarks;
    if (benchmark?.numErrors !== 0) throw new Error(`${order.run}: ${JSON.stringify(benchmarks)}`);
    return {
      startedAt,
      seconds,
      commandCpuMs: endedChildrenMs() - commandsBefore,
      stackCpuMs: cpuMsOf(this.devPid) - stackBefore,
      memory: [memory, ...memoryOfStack()],
      historyBytes: await this.historyBytes(order.run),
      score: benchmark.score,
      journalled: countRows(dir),
    };
  }

  /** Of the process that evaluates, once its garbage is collected. */
  liveMemory(): Promise<LiveMemory> {
    return liveMemory(this.evaluatorPid, this.inspectPort);
  }

  private get devPid(): number {
    return this.dev.pid ?? 0;
  }

  private get evaluatorPid(): number {
    const evaluator = this.record.children.find(({ name }) => name.includes('eval'));
    if (!evaluator) throw new Error(`Which process evaluates? ${JSON.stringify(this.record.children)}`);
    return evaluator.pid;
  }

  private async command({ run, url, questions, concurrency }: EvalOrder): Promise<CommandEnd> {
    const asked = ['--endpoint', url, '--model', 'canned', '--concurrency', String(concurrency)];
    const args = [
      this.launcher,
      'eval',
      'gsm8k',
      ...asked,
      '--run',
      run,
      '--json',
      '--data-dir',
      this.folder,
    ];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...environment(), EVERSTEP_DATA_DIR: questions.folder },
    });
    let [printed, complaint] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (part: string) => (printed += part));
    child.stderr
      .setEncoding('utf8')
      .on('data', (part: string) => (complaint = (complaint + part).slice(-2000)));
    const [memory] = await Promise.all([watchChild('command', child), once(child, 'close')]);
    if (child.exitCode !== 0) throw new Error(`everstep eval ended with ${child.exitCode}: ${complaint}`);
    // The document of our own command.
    return { document: JSON.parse(printed) as EvalDocument, memory };
  }

  private async historyBytes(run: string): Promise<number> {
    const client = new Client({ connection: this.connection, namespace: this.record.namespace });
    const { raw } = await client.workflow.getHandle(`bench/${run}/gsm8k`).describe();
    return Number(raw.workflowExecutionInfo?.historySizeBytes ?? Number.NaN);
  }
}

/** Rows in the journals of an evaluation that has ended. */
function countRows(dir: string): number {
  const trajectories = readFileSync(path.join(dir, 'gsm8k', 'trajectories.jsonl'));
  return trajectories.reduce((count, byte) => count + Number(byte === 10), 0);
}

function environment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(TEMPORAL_|TINKER_|EVERSTEP_|OPENAI_)/.test(name),
  );
  return {
    ...Object.fromEntries(inherited),
    EVERSTEP_NO_BUILD: '1',
    ...(process.env['EVERSTEP_TEMPORAL_CLI'] && {
      EVERSTEP_TEMPORAL_CLI: process.env['EVERSTEP_TEMPORAL_CLI'],
    }),
  };
}
