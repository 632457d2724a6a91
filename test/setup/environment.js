/**
 * Node's environment, in which a module that many suites load is compiled once a worker.
 *
 * jest compiles every module of every suite anew by `vm.compileFunction`, which V8 keeps no compiled code of; scripts it keeps,
 * with the functions that were run. A suite that loads a stack is a third cheaper, a small one a sixth.
 */
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

const compileFunction = vm.compileFunction;

vm.compileFunction = (source, parameters = [], options = {}) => {
  const { parsingContext, filename } = options;
  if (parsingContext === undefined) return compileFunction(source, parameters, options);
  const head = `(function (${parameters.join(', ')}) {`;
  const script = new vm.Script(`${head}${source}\n})`, { filename, columnOffset: -head.length });
  return script.runInContext(parsingContext);
};

module.exports = TestEnvironment;
