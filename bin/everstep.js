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
  if (process.argv.length === 3 && ['-V', '--version'].includes(process.argv[2])) {
    process.stdout.write(`${require('../package.json').version}\n`);
    return;
  }
  // Processes started by a running everstep use the build it runs from; EVERSTEP_NO_BUILD says so.
  const command = commandName();
  if (existsSync(path.join(ROOT, 'src')) && !process.env.EVERSTEP_NO_BUILD) await prepareCheckout(command);
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

async function prepareCheckout(command) {
  try {
    await require(path.join(ROOT, 'scripts', 'prepare.js')).prepare({ command });
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error(`Cannot build: ${error.message.split('\n')[0]}. Run \`npm ci\` in ${ROOT} first.`);
  }
}

start().catch((error) => {
  process.stderr.write(`everstep: ${error.message}\n`);
  process.exitCode = 1;
});
