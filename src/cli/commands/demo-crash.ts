import type { RunReport } from '../../client/run-report';
import { findStack } from '../../stack/stack-record';
import { sendSignal } from '../../stack/process-identity';
import type { Output } from '../output';

/** Called with every report: kills the worker once, half-way, and says when the run goes on. */
export function createCrash(dataFolder: string, output: Output): (report: RunReport) => void {
  let killed: { readonly pid: number; readonly step: number; readonly at: number } | null = null;
  let hasGoneOn = false;

  return (report) => {
    const { step, totalSteps } = report;
    if (killed === null) {
      if (totalSteps === 0 || step < totalSteps / 2) return;
      const pid = killWorker(dataFolder);
      if (pid === null) return;
      killed = { pid, step, at: performance.now() };
      const text = `step ${step}: killed the worker that trains (kill -9 ${pid}). The run is in Temporal, not in the worker.`;
      output.line(output.colors.bold(output.colors.yellow(text)));
      return;
    }
    if (hasGoneOn || step <= killed.step + 1) return;
    const pid = workerPid(dataFolder);
    if (pid === null || pid === killed.pid) return;
    hasGoneOn = true;
    const seconds = ((performance.now() - killed.at) / 1000).toFixed(1);
    const text = `step ${step}: a new worker (process ${pid}) is at work, ${seconds} s after the kill. Steps trained again: ${report.stepsReplayed}.`;
    output.line(output.colors.bold(text));
  };
}

function killWorker(dataFolder: string): number | null {
  const pid = workerPid(dataFolder);
  return pid !== null && sendSignal(pid, 'SIGKILL') ? pid : null;
}

function workerPid(dataFolder: string): number | null {
  return findStack(dataFolder)?.children.find((child) => child.name.startsWith('worker'))?.pid ?? null;
}
