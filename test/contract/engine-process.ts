import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';

/** The real engine in a process of its own, so that it can be killed as a machine kills it. */
export class EngineProcess {
  private constructor(
    private readonly dataFolder: string,
    readonly url: string,
    private child: ChildProcess,
  ) {}

  static async start({ dataFolder }: { readonly dataFolder: string }): Promise<EngineProcess> {
    const { child, url } = await launch(dataFolder, 0);
    return new EngineProcess(dataFolder, url, child);
  }

  /** SIGKILL: nothing is closed, written or said. */
  async kill(): Promise<void> {
    const { child } = this;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** Kills it and starts another one at the same address. */
  async restart(): Promise<void> {
    await this.kill();
    const port = Number(new URL(this.url).port);
    this.child = (await launch(this.dataFolder, port)).child;
  }
}

async function launch(dataFolder: string, port: number): Promise<{ child: ChildProcess; url: string }> {
  const program = path.join(__dirname, 'engine-program.js');
  const child = spawn(process.execPath, [program, dataFolder, String(port)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (line: Buffer) => {
      resolve(line.toString().trim());
    });
    child.once('exit', (code) => {
      reject(new Error(`The engine ended with ${String(code)} before it was ready.`));
    });
  });
  return { child, url };
}
