/**
 * Loaded before a worker (`node --require`): while the file named by EVERSTEP_CHAOS_SLOW_DISK is there, every change of a
 * file takes as many milliseconds longer as it says. Synchronous calls hold the whole process up, as on a slow disk.
 */
const fs = require('node:fs');

const control = process.env.EVERSTEP_CHAOS_SLOW_DISK;
const { readFileSync } = fs;
const clock = new Int32Array(new SharedArrayBuffer(4));
const SYNCHRONOUS = [
  'writeSync',
  'writeFileSync',
  'fsyncSync',
  'renameSync',
  'linkSync',
  'ftruncateSync',
  'rmSync',
];
const PROMISED = ['writeFile', 'rename', 'link', 'open', 'rm', 'mkdir'];

function delay() {
  try {
    return Number(readFileSync(control, 'utf8')) || 0;
  } catch {
    return 0;
  }
}

if (control) {
  for (const name of SYNCHRONOUS) {
    const original = fs[name];
    fs[name] = function slow(...args) {
      const milliseconds = delay();
      if (milliseconds > 0) Atomics.wait(clock, 0, 0, milliseconds);
      return original.apply(this, args);
    };
  }
  for (const name of PROMISED) {
    const original = fs.promises[name];
    fs.promises[name] = async function slow(...args) {
      const milliseconds = delay();
      if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
      return original.apply(this, args);
    };
  }
}
