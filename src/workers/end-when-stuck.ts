import { url as debuggerUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { blameWorkInHand } from '../evaluation/foreign-work';
import { firstPlace } from '../evaluation/foreign-places';

/** Longer than anything of ours keeps the event loop, and than the heartbeats of what it does may stay away. */
const PATIENCE_SECONDS = 30;
const MEGABYTES = 16;
/** By this name the thread finds, in a process that stands still, who can tell whose doing it is. */
const ASKED = 'everstep.whose-doing';

const Frames = z.array(z.object({ file: z.string(), line: z.int() }));

/**
 * Ends this process where its event loop stood still for so long: code of a plug-in that never gives it back would else
 * keep its worker's places for ever. A thread counts its own seconds, so that a process that was frozen, or a machine
 * that slept, is not taken for one. It stops the process as a debugger does, to see where it stands and whose doing that is; what
 * cannot be stopped so, as a call of the system, ends unasked. Under a debugger, which stops the event loop on purpose, nothing is ended.
 */
export function endWhenStuck(patienceSeconds = PATIENCE_SECONDS): void {
  if (debuggerUrl() !== undefined) return;
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), 500).unref();
  const tell = (seconds: number, frames: string) => {
    const place = firstPlace(Frames.parse(JSON.parse(frames)));
    const where = place === null ? '' : ` at ${place}`;
    const subject = blameWorkInHand(`it kept the worker from everything else for ${seconds} s${where}`);
    return `${subject ?? 'code that it runs'}${where}`;
  };
  Object.defineProperty(globalThis, Symbol.for(ASKED), { value: tell });
  const thread = new Worker(WATCH, {
    eval: true,
    workerData: { beats, patienceSeconds, asked: ASKED },
    resourceLimits: { maxOldGenerationSizeMb: MEGABYTES, maxYoungGenerationSizeMb: 1 },
  });
  thread.unref();
}

const WATCH = `
const { writeSync } = require('node:fs');
const { Session } = require('node:inspector');
const { workerData: { beats, patienceSeconds, asked } } = require('node:worker_threads');
const UNKNOWN = 'code that it runs, such as an environment of a plug-in,';
const MOST_FRAMES = 30;
const STOP_SECONDS = 3;
let seen = -1;
let still = 0;
const watching = setInterval(() => {
  const now = Atomics.load(beats, 0);
  still = now === seen ? still + 1 : 0;
  seen = now;
  if (still < patienceSeconds) return;
  clearInterval(watching);
  setTimeout(() => end(UNKNOWN), STOP_SECONDS * 1000);
  ask();
}, 1000);

function ask() {
  const session = new Session();
  session.connectToMainThread();
  const files = new Map();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => files.set(scriptId, url));
  session.on('Debugger.paused', ({ params: { callFrames } }) => {
    const frames = callFrames.slice(0, MOST_FRAMES).map(({ url, location: { scriptId, lineNumber } }) => (
      { file: url || files.get(scriptId) || '', line: lineNumber + 1 }
    ));
    const told = JSON.stringify(JSON.stringify(frames));
    const expression = 'globalThis[Symbol.for(' + JSON.stringify(asked) + ')](' + still + ', ' + told + ')';
    const at = { callFrameId: callFrames[0].callFrameId, expression, returnByValue: true };
    session.post('Debugger.evaluateOnCallFrame', at, (error, answer) => {
      const value = answer?.result?.value;
      end(typeof value === 'string' ? value : UNKNOWN);
    });
  });
  session.post('Debugger.enable', () => session.post('Debugger.pause'));
}

function end(what) {
  writeSync(2, 'everstep: this worker did nothing else for ' + still + ' s: ' + what + ' never gives the event loop back. The process ends; what it did is tried again.\\n');
  process.kill(process.pid, 'SIGKILL');
}
`;
