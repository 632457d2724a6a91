/** Stands for bin/everstep.js in tests of the supervisor: a service that listens, says so, and does nothing. */
const { createServer } = require('node:net');
const { writeFileSync } = require('node:fs');
const path = require('node:path');

const [command, ...args] = process.argv.slice(2);
const flag = (name) => args[args.indexOf(name) + 1];
const folder = args.includes('--data-dir') ? flag('--data-dir') : process.env.FAKE_FOLDER;

if (process.env.FAKE_FAILURE === command) {
  process.stderr.write(`the ${command} cannot start today\n`);
  process.exit(3);
}

if (process.env.FAKE_END === command) {
  process.stdout.write(`${command} ready ${process.pid}\n`);
  process.stderr.write(`everstep: ${process.env.FAKE_REASON}\n`);
  setTimeout(() => process.exit(1), 50);
}

const end = (how) => {
  writeFileSync(path.join(folder, `${command}.${how}`), String(process.hrtime.bigint()));
  process.exit(0);
};
process.on('SIGTERM', () => {
  if (process.env.FAKE_DEAF !== command) end('sigterm');
});
process.stdin.on('end', () => end('orphaned')).resume();

const ready = () =>
  process.env.FAKE_SILENCE !== command &&
  process.stdout.write(`${command} ready ${process.pid} ${args.join(' ')}\n`);
if (args.includes('--port')) createServer().listen(Number(flag('--port')), '127.0.0.1', ready);
else {
  setInterval(() => {}, 1000);
  ready();
}
