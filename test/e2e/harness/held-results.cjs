/**
 * Loaded before an engine (`node --require`): while the file named by EVERSTEP_TEST_HELD_RESULTS is there, nobody hears of
 * what is done once as many updates were asked for as it says. They are computed as always.
 */
const { existsSync, readFileSync } = require('node:fs');
const { Server } = require('node:http');

const LOOK_EVERY_MS = 20;

const file = process.env.EVERSTEP_TEST_HELD_RESULTS;
const { emit } = Server.prototype;
let updateCount = 0;

function isHeld() {
  return existsSync(file) && updateCount >= Number(readFileSync(file, 'utf8'));
}

if (file && process.argv[2] === 'engine') {
  Server.prototype.emit = function hold(event, request, ...others) {
    if (event !== 'request') return emit.call(this, event, request, ...others);
    if (request.url.endsWith('/optim_step')) updateCount += 1;
    const pass = () => {
      if (request.url.endsWith('/retrieve_future') && isHeld()) setTimeout(pass, LOOK_EVERY_MS);
      else emit.call(this, event, request, ...others);
    };
    pass();
    return true;
  };
}
