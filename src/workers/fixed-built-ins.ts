const TIMERS = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
];
const LANGUAGE = ['Array', 'BigInt', 'Date', 'JSON', 'Map', 'Math', 'Number', 'Object', 'Promise', 'Reflect'];
const OTHERS = ['RegExp', 'Set', 'String', 'Symbol', 'queueMicrotask', 'structuredClone'];
/** Whose own functions are what all code of a worker means by `JSON.stringify`, `Date.now`, `Promise.all`. */
const HOLDERS: readonly object[] = [
  ...[JSON, Math, Reflect],
  ...[Array, BigInt, Date, Number, Object, Promise, String, Symbol],
];

/**
 * Makes what plug-ins share with the worker and with each other unchangeable: what every object inherits, the timers and the
 * functions of the language. Code that would replace one gets a TypeError where it does so (silence in a script that is not
 * strict), instead of everybody else's work going wrong later on, under other names.
 *
 * Methods of arrays, strings and the like stay open, for polyfills, and because fixing them makes all code slower. It
 * guards against carelessness: code that means harm can do anything its process can.
 */
export function fixBuiltIns(): void {
  for (const name of [...TIMERS, ...LANGUAGE, ...OTHERS]) fix(globalThis, name);
  for (const holder of HOLDERS) for (const name of Object.getOwnPropertyNames(holder)) fix(holder, name);
  Object.preventExtensions(Object.prototype);
}

/** New ones may still be added beside it. */
function fix(holder: object, name: string): void {
  const property = Object.getOwnPropertyDescriptor(holder, name);
  if (property?.configurable !== true || property.writable !== true) return;
  Object.defineProperty(holder, name, { writable: false, configurable: false });
}
