import { executionAsyncId } from 'node:async_hooks';
import { url as debuggerUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { blameWorkInHand } from '../evaluation/foreign-work';
import { innermostOfOthers } from '../evaluation/thrown-at';

/** Longer than anything of ours keeps the event loop, and than the heartbeats of what it does may stay away. */
const PATIENCE_SECONDS = 30;
const MEGABYTES = 16;
/** By this name the thread finds, in a process that stands still, who can tell whose doing it is. */
const ASKED = 'everstep.whose-doing';

const Places = z.array(z.string());

/**
 * Ends this process where one piece of code kept its event loop for so long: code of a plug-in that never gives it back would else
 * keep its worker's places for ever. A thread counts its own seconds, so that a process that was frozen, or a machine
 * that slept, is not taken for one. It stops the process as a debugger does, to see whether it is still the same piece, where that stands
 * and whose doing it is; pieces that follow each other at once have three times as long. What cannot be stopped so, as a call of
 * the system, ends unasked. Under a debugger, which stops the event loop on purpose, nothing is ended.
 */
export function endWhenStuck(patienceSeconds = PATIENCE_SECONDS): void {
  if (debuggerUrl() !== undefined) return;
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), 500).unref();
  const tell = (seconds: number, told: string) => {
    const places = Places.parse(JSON.parse(told));
    const place = innermostOfOthers(places) ?? places.find((each) => each.startsWith('/'));
    const where = place === undefined ? '' : ` at ${place}`;
    const subject = blameWorkInHand(`it kept the worker from everything else for ${seconds} s${where}`);
    return `${subject ?? 'code that it runs'}${where}`;
  };
  Object.defineProperty(globalThis, Symbol.for(ASKED), { value: { piece: executionAsyncId, tell } });
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
const LOOK_AFTER = Math.min(5, patienceSeconds / 2);
let seen = -1;
let still = 0;
/** What is at work, and for how many seconds it has been seen at it. */
let piece = null;
let ofPiece = 0;
let session = null;
const files = new Map();

const watching = setInterval(() => {
  const now = Atomics.load(beats, 0);
  still = now === seen ? still + 1 : 0;
  seen = now;
  if (still === 0) forget();
  if (still < LOOK_AFTER) return;
  ofPiece += 1;
  if (ofPiece + LOOK_AFTER < patienceSeconds && still < 3 * patienceSeconds) {
    look();
    return;
  }
  clearInterval(watching);
  setTimeout(() => end(UNKNOWN), STOP_SECONDS * 1000);
  stopped(['tell', still, (frames) => JSON.stringify(JSON.stringify(frames))], end);
}, 1000);

function forget() {
  session?.disconnect();
  session = null;
  piece = null;
  ofPiece = 0;
}

function look() {
  stopped(['piece'], (now) => {
    if (now !== piece) ofPiece = 0;
    piece = now;
  });
}

let onStopped = null;

/** Stops the process, calls what it has for us, and lets it go on. */
function stopped(call, onAnswer) {
  if (session === null) open();
  const isAsked = onStopped !== null;
  onStopped = ({ params: { callFrames } }) => {
    onStopped = null;
    const [name, seconds, framesOf] = call;
    const frames = callFrames.slice(0, MOST_FRAMES).map(({ url, location: { scriptId, lineNumber } }) => (
      (url || files.get(scriptId) || '') + ':' + (lineNumber + 1)
    ));
    const given = framesOf ? seconds + ', ' + framesOf(frames) : '';
    const expression = 'globalThis[Symbol.for(' + JSON.stringify(asked) + ')].' + name + '(' + given + ')';
    const at = { callFrameId: callFrames[0].callFrameId, expression, returnByValue: true };
    session.post('Debugger.evaluateOnCallFrame', at, (error, answer) => {
      onAnswer(answer?.result?.value ?? UNKNOWN);
      session?.post('Debugger.resume');
    });
  };
  if (!isAsked) session.post('Debugger.pause');
}

function open() {
  session = new Session();
  session.connectToMainThread();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => files.set(scriptId, url));
  session.on('Debugger.paused', (event) => onStopped?.(event) ?? session.post('Debugger.resume'));
  session.post('Debugger.enable');
}

function end(what) {
  writeSync(2, 'everstep: this worker did nothing else for ' + still + ' s: ' + what + ' never gives the event loop back. The process ends; what it did is tried again.\\n');
  process.kill(process.pid, 'SIGKILL');
}
`;
