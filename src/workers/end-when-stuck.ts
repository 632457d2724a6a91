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
 * keep its worker's places for ever. A thread counts the seconds in which the event loop worked, or waited for a call of the system, and
 * did not turn: one that was frozen, on a machine that slept, or that others leave no processor to, is not taken for one.
 *
 * The thread stops the process as a debugger does, twice, to see whether it is still the same piece, where that stands and whose doing it
 * is; pieces that follow each other at once have three times as long. What cannot be stopped so, as a call of the system, ends unasked.
 * Under a debugger, which stops the event loop on purpose, nothing is ended.
 */
export function endWhenStuck(patienceSeconds = PATIENCE_SECONDS): void {
  if (debuggerUrl() !== undefined) return;
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), 500).unref();
  const tell = (piece: number | null, seconds: number, told: string) => {
    if (piece !== null && piece !== executionAsyncId()) return null;
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
const { readFileSync, writeSync } = require('node:fs');
const { Session } = require('node:inspector');
const { workerData: { beats, patienceSeconds, asked } } = require('node:worker_threads');
const UNKNOWN = 'code that it runs, such as an environment of a plug-in,';
const MOST_FRAMES = 30;
const MOST_PROGRAMS = 3;
const STOP_SECONDS = 10;
const TICKS = 100;
/** The thread that runs the event loop has the number of its process. */
const STATUS = '/proc/self/task/' + process.pid + '/stat';
const LOOK_AT = Math.ceil(patienceSeconds / 2);
const END_AT = LOOK_AT + patienceSeconds;
const END_ANYWAY_AT = 3 * patienceSeconds;
let seen = -1;
let still = 0;
let ticks = 0;
/** What was at work at the first look; undefined before, null where it could not be stopped. */
let piece;
/** Another piece was at work at the second look. */
let isOther = false;
let isAsked = false;
let giveUp;
let session = null;

const watching = setInterval(() => {
  const now = Atomics.load(beats, 0);
  const counted = secondsAtWorkOrWaiting();
  if (now === seen) still += counted;
  else forget();
  seen = now;
  if (isAsked) return;
  if (still >= END_ANYWAY_AT) ask(null);
  else if (still >= END_AT && !isOther) ask(piece);
  else if (still >= LOOK_AT && piece === undefined) look();
}, 1000);

/** Of the last second, without those in which it only waited for a processor. Where nobody can tell, all of it counts. */
function secondsAtWorkOrWaiting() {
  let fields;
  try {
    fields = readFileSync(STATUS, 'latin1').replace(/^.*[)] /s, '').split(' ');
  } catch {
    return 1;
  }
  const before = ticks;
  ticks = Number(fields[11]) + Number(fields[12]);
  return fields[0] === 'R' ? Math.min(1, (ticks - before) / TICKS) : 1;
}

function forget() {
  still = 0;
  piece = undefined;
  isOther = false;
  isAsked = false;
  clearTimeout(giveUp);
  session?.disconnect();
  session = null;
}

function look() {
  piece = null;
  stopped('piece', () => '', (now) => {
    piece = now;
  });
}

function ask(expected) {
  isAsked = true;
  giveUp = setTimeout(() => end(UNKNOWN), STOP_SECONDS * 1000);
  const given = (frames) => [expected, Math.round(still), JSON.stringify(JSON.stringify(frames))].join(', ');
  stopped('tell', (frames) => given(frames).replace(/^, /, 'null, '), (what) => {
    clearTimeout(giveUp);
    if (what !== null) end(what);
    isAsked = false;
    isOther = true;
  });
}

/** Stops the process, calls what it has for us, and lets it go on. */
function stopped(name, givenOf, onAnswer) {
  session?.disconnect();
  const own = new Session();
  session = own;
  const files = new Map();
  own.connectToMainThread();
  own.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => files.set(scriptId, url));
  own.once('Debugger.paused', ({ params: { callFrames } }) => {
    const frames = callFrames.slice(0, MOST_FRAMES).map(({ url, location: { scriptId, lineNumber } }) => (
      (url || files.get(scriptId) || '') + ':' + (lineNumber + 1)
    ));
    const expression = 'globalThis[Symbol.for(' + JSON.stringify(asked) + ')].' + name + '(' + givenOf(frames) + ')';
    const at = { callFrameId: callFrames[0].callFrameId, expression, returnByValue: true };
    own.post('Debugger.evaluateOnCallFrame', at, (error, answer) => {
      const value = answer?.result?.value;
      onAnswer(value === undefined ? UNKNOWN : value);
      if (session === own) session = null;
      own.disconnect();
    });
  });
  own.post('Debugger.enable');
  own.post('Debugger.pause');
}

/** By name alone: what they are given may be secret. Of a shell that waits for a program, that one. */
function programsOfOurs() {
  try {
    const names = childrenOf(process.pid).map(innermost).map((id) => (
      JSON.stringify(readFileSync('/proc/' + id + '/comm', 'utf8').trim()) + ' (process ' + id + ')'
    ));
    return names.length === 0 ? '' : ' It may wait for a program that it started: ' + names.slice(-MOST_PROGRAMS).join(', ') + '.';
  } catch {
    return '';
  }
}

function childrenOf(id) {
  return readFileSync('/proc/' + id + '/task/' + id + '/children', 'latin1').split(' ').filter((each) => each.trim() !== '');
}

function innermost(id) {
  const [only, ...others] = childrenOf(id);
  return only === undefined || others.length > 0 ? id : innermost(only);
}

function end(what) {
  const programs = what === UNKNOWN ? programsOfOurs() : '';
  writeSync(2, 'everstep: this worker did nothing else for ' + Math.round(still) + ' s: ' + what + ' never gives the event loop back.' + programs + ' The process ends; what it did is tried again.\\n');
  process.kill(process.pid, 'SIGKILL');
}
`;
