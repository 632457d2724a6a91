/**
 * What a checkout needs before its program can run: dist/, and beside it, where the command will start a Temporal server
 * and there is no CLI yet, the CLI. The latter goes on when dist/ is there; the program then waits for it.
 */
const { spawn } = require('node:child_process');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { build, isBuilt } = require('./build.js');
const { loadSource, sourceArguments } = require('./run-source.js');

const ROOT = path.resolve(__dirname, '..');
const STARTING = ['backfill', 'demo', 'dev', 'eval', 'temporal', 'train'];

/** @param {{ command: string }} options which command is to run */
async function prepare({ command }) {
  if (isBuilt({ forRunning: true })) return;
  const { streamProgress } = await loadSource('stack/progress.ts');
  const shown = streamProgress(process.stderr);
  const beside = STARTING.includes(command)
    ? fetchAhead(command, shown)
    : { describe: () => '', leave: () => {} };
  shown.note('Building everstep from its sources: once, and again only when they change.');
  try {
    const status = (text) =>
      shown.status(text && beside.describe() ? `${text} · ${beside.describe()}` : text);
    await build({ ifNeeded: true, forRunning: true, progress: { note: shown.note, status } });
  } finally {
    beside.leave();
  }
}

/** It ends with our stdin pipe to it, however this process ends, and takes along what it began. */
function fetchAhead(command, shown) {
  const child = spawn(process.execPath, [...sourceArguments('stack/fetch-ahead.ts'), command], {
    cwd: process.cwd(),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let current = '';
  let isWatched = true;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { note, status } = JSON.parse(line);
    if (note && isWatched) shown.note(note);
    if (status !== undefined) current = status ?? '';
  });
  for (const end of [child, child.stdin, child.stdout]) end.on('error', () => {});
  // It must not keep a command alive that is done.
  for (const end of [child, child.stdin, child.stdout]) end.unref();
  return { describe: () => current, leave: () => (isWatched = false) };
}

module.exports = { prepare };
