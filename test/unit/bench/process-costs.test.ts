import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cpuMsOf, endedChildrenMs, memoryMib, peakMemoryMib } from '../../../bench/process-costs';

const onLinux = existsSync('/proc/self/stat') ? test : test.skip;
const BURN = 'const until = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < until);';

onLinux('counts what a child computed, while it lives and once it has ended', async () => {
  const [before, endedBefore] = [cpuMsOf(process.pid), endedChildrenMs()];
  const child = spawn(process.execPath, [
    '-e',
    `${BURN} process.stdout.write('done'); process.stdin.resume();`,
  ]);
  await once(child.stdout, 'data');

  const ofChild = cpuMsOf(child.pid ?? 0);
  const ofBoth = cpuMsOf(process.pid) - before;
  child.stdin.end();
  await once(child, 'close');

  expect(ofChild).toBeGreaterThanOrEqual(250);
  expect(ofBoth).toBeGreaterThanOrEqual(250);
  expect(endedChildrenMs() - endedBefore).toBeGreaterThanOrEqual(250);
  expect(cpuMsOf(child.pid ?? 0)).toBe(0);
});

onLinux('knows the memory of a process and the most it had', () => {
  expect(memoryMib(process.pid)).toBeGreaterThan(10);
  expect(peakMemoryMib(process.pid)).toBeGreaterThanOrEqual(memoryMib(process.pid) - 1);
});
