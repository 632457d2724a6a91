#!/usr/bin/env node
/** Starts the command line program. In a checkout it first makes sure that dist/ was built from the sources there. */
const { existsSync } = require('node:fs');
const nodeModule = require('node:module');
const path = require('node:path');

const ROOT = path.resolve(__dirname, '..');

async function start() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(`everstep needs Node 20.19 or newer; this is ${process.version}.`);
  }
  // Processes started by a running everstep use the build it runs from; EVERSTEP_NO_BUILD says so.
  if (existsSync(path.join(ROOT, 'src')) && !process.env.EVERSTEP_NO_BUILD) await ensureBuilt();
  nodeModule.enableCompileCache?.();
  await require(path.join(ROOT, 'dist', 'cli', 'main.js')).main(process.argv);
}

async function ensureBuilt() {
  const { build } = require(path.join(ROOT, 'scripts', 'build.js'));
  const announce = () => process.stderr.write('Building everstep (first use)…\n');
  try {
    await build({ ifNeeded: true, tolerateTypeErrors: true, announce });
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error(`Cannot build: ${error.message.split('\n')[0]}. Run \`npm ci\` in ${ROOT} first.`);
  }
}

start().catch((error) => {
  process.stderr.write(`everstep: ${error.message}\n`);
  process.exitCode = 1;
});
