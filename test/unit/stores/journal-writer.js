/**
 * Another process that writes a journal: node journal-writer.js PATH EPOCH STOP
 *
 * STOP says where it stops itself (SIGSTOP), as if the machine had paused it: `append`, between its check and its
 * write; `takeover`, just before it would rename its copy over the journal. Prints a line for each thing done.
 */
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const path = require('node:path');
const { createJiti } = require('jiti');

const [journalPath, epoch, stop] = process.argv.slice(2);

function say(what) {
  fs.writeSync(1, `${what}\n`);
}

let hasStopped = false;

function stopHere() {
  if (hasStopped) return;
  hasStopped = true;
  say('stopping');
  process.kill(process.pid, 'SIGSTOP');
}

const rename = fs.renameSync;
fs.renameSync = (from, to) => {
  if (stop === 'takeover' && to === journalPath) stopHere();
  return rename(from, to);
};
syncBuiltinESMExports();

async function main() {
  const sources = path.resolve(__dirname, '../../../src/stores/fenced-journal.ts');
  const { openJournal } = await createJiti(__filename, { fsCache: false }).import(sources);
  const journal = await openJournal({
    path: journalPath,
    epoch: Number(epoch),
    keyOf: (row) => String(row.step),
    write(descriptor, bytes) {
      if (stop === 'append') stopHere();
      return fs.writeSync(descriptor, bytes);
    },
  });
  say('open');
  journal.verify();
  journal.append({ step: 2, by: 'zombie' });
  say('written');
  journal.verify();
  say('verified');
}

main().catch((error) => say(`failed ${error.code}`));
