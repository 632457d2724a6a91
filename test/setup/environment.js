/**
 * Node's environment, in which a module that many suites load is compiled once a worker.
 *
 * jest compiles every module of every suite anew by `vm.compileFunction`, which V8 keeps no compiled code of; scripts it keeps,
 * with the functions that were run. A suite that loads a stack is a third cheaper, a small one a sixth.
 */
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

/**
 * What the language has, handed to each module: in a context every use of a global asks the context's object first, in a loop over a
 * text most of its time. None that a test exchanges, as timers and the clock.
 */
const INTRINSICS = [
  ...['Array', 'BigInt', 'Boolean', 'Infinity', 'JSON', 'Map', 'Math', 'NaN', 'Number', 'Object', 'RegExp'],
  ...['Reflect', 'Set', 'String', 'Symbol', 'WeakMap', 'WeakSet'],
  ...['ArrayBuffer', 'DataView', 'Float32Array', 'Float64Array', 'Int32Array', 'Uint8Array', 'Uint32Array'],
].join(', ');

const compileFunction = vm.compileFunction;

vm.compileFunction = (source, parameters = [], options = {}) => {
  const { parsingContext, filename } = options;
  if (parsingContext === undefined) return compileFunction(source, parameters, options);
  const head = `(function (${INTRINSICS}) { return (function (${parameters.join(', ')}) {`;
  const text = `${head}${source}\n}); })(${INTRINSICS})`;
  const script = new vm.Script(text, { filename, columnOffset: -head.length });
  return script.runInContext(parsingContext);
};

module.exports = TestEnvironment;
