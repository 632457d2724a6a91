const path = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Unit suites come last: started late, a suite of minutes would run on alone at the end. */
module.exports = class extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    const isUnit = ({ path: file }) => file.includes(`${path.sep}test${path.sep}unit${path.sep}`);
    return [...sorted.filter((test) => !isUnit(test)), ...sorted.filter(isUnit)];
  }
};
