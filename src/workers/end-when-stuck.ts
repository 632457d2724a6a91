import { url as debuggerUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';

/** Much longer than anything of ours keeps the event loop, and than the heartbeats of what it does may stay away. */
const PATIENCE_SECONDS = 60;
const MEGABYTES = 8;

/**
 * Ends this process where its event loop stood still for so long: code of a plug-in that never gives it back would else
 * keep its worker's places for ever. A thread counts its own seconds, so that a process that was frozen, or a machine
 * that slept, is not taken for one. Under a debugger, which stops the event loop on purpose, nothing is ended.
 */
export function endWhenStuck(patienceSeconds = PATIENCE_SECONDS): void {
  if (debuggerUrl() !== undefined) return;
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), 500).unref();
  const thread = new Worker(WATCH, {
    eval: true,
    workerData: { beats, patienceSeconds },
    resourceLimits: { maxOldGenerationSizeMb: MEGABYTES, maxYoungGenerationSizeMb: 1 },
  });
  thread.unref();
}

const WATCH = `
const { writeSync } = require('node:fs');
const { workerData: { beats, patienceSeconds } } = require('node:worker_threads');
let seen = -1;
let still = 0;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  still = now === seen ? still + 1 : 0;
  seen = now;
  if (still < patienceSeconds) return;
  writeSync(2, 'everstep: this worker did nothing for ' + still + ' s: code that it runs, such as an environment of a plug-in, never gives the event loop back. The process ends; what it did is tried again.\\n');
  process.kill(process.pid, 'SIGKILL');
}, 1000);
`;
