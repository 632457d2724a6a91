#!/usr/bin/env node
/** Starts the command line program. In a checkout it first makes sure that dist/ was built from the sources there. */
const { existsSync } = require('node:fs');
const path = require('node:path');
const v8 = require('node:v8');
const { keepCode } = require('./code-cache');

const ROOT = path.resolve(__dirname, '..');
/** Commands whose process asks others to compute. */
const WAITING = ['backfill', 'eval', 'results', 'runs', 'schedule', 'train'];

async function start() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(`everstep needs Node 20.19 or newer; this is ${process.version}.`);
  }
  // Processes started by a running everstep use the build it runs from; EVERSTEP_NO_BUILD says so.
  if (existsSync(path.join(ROOT, 'src')) && !process.env.EVERSTEP_NO_BUILD) await ensureBuilt();
  const command = commandName();
  if (WAITING.includes(command)) delayOptimizing();
  keepCode({ root: ROOT, command, folder: codeFolder() });
  await require(path.join(ROOT, 'dist', 'cli', 'main.js')).main(process.argv);
}

/**
 * V8 of Node 20 begins to optimize what loads modules just before all are loaded: a seventh of the time of such a command.
 * Later versions call this otherwise, so it is left to them.
 */
function delayOptimizing() {
  if (process.versions.v8.startsWith('11.3.')) v8.setFlagsFromString('--interrupt-budget=1000000');
}

/** Commands load different modules. */
function commandName() {
  const [, , word = ''] = process.argv;
  return /^[a-z]+$/.test(word) ? word : 'other';
}

/** Null where nothing says which folder is the person's own. */
function codeFolder() {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const folder = XDG_CACHE_HOME?.trim() || (HOME && path.join(HOME, '.cache'));
  return folder && path.isAbsolute(folder) ? path.join(folder, 'everstep', 'code') : null;
}

async function ensureBuilt() {
  const { build } = require(path.join(ROOT, 'scripts', 'build.js'));
  const progress = buildProgress();
  try {
    await build({ ifNeeded: true, tolerateTypeErrors: true, announce: progress.announce });
    progress.end('built');
  } catch (error) {
    progress.end('not built');
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error(`Cannot build: ${error.message.split('\n')[0]}. Run \`npm ci\` in ${ROOT} first.`);
  }
}

/** What is being built and for how long: on a terminal once a second in one line, elsewhere a line of each phase. */
function buildProgress() {
  const { stderr } = process;
  const begin = Date.now();
  let phase = null;
  let timer = null;
  const seconds = () => Math.round((Date.now() - begin) / 1000);
  const show = () => stderr.write(`\r\u001b[2K  ${phase}… ${seconds()} s`);
  return {
    announce: (next) => {
      if (next === phase) return;
      if (phase === null) {
        stderr.write('Building everstep from its sources: once, and again only when they change.\n');
        if (stderr.isTTY) timer = setInterval(show, 1000);
      }
      phase = next;
      if (stderr.isTTY) show();
      else stderr.write(`  ${phase}…\n`);
    },
    end: (outcome) => {
      if (phase === null) return;
      clearInterval(timer);
      stderr.write(`${stderr.isTTY ? '\r\u001b[2K' : ''}  ${outcome} after ${seconds()} s\n`);
    },
  };
}

start().catch((error) => {
  process.stderr.write(`everstep: ${error.message}\n`);
  process.exitCode = 1;
});
