/**
 * An interpreter as it is before any program, to which it can be put back: its memory, its references to JavaScript and its files.
 *
 * Putting it back takes some milliseconds; another interpreter takes some hundreds, most of them for linking. A program changes
 * a fifteenth of the memory, so all of it is compared and only what differs is written: processors share the way to memory, and writing
 * takes it up three times as long as reading.
 */

/** A program that took more memory leaves more to clear than another interpreter costs. */
const MOST_GROWTH_BYTES = 64 * 1024 * 1024;
/** What is compared at once. Memories are multiples of 64 KiB. */
const PIECE_BYTES = 32 * 1024;
/** Half of the memory is empty, and compared with this; what a processor has at hand need not be read. */
const EMPTY = Buffer.alloc(PIECE_BYTES);

/** Only for an interpreter that has asked nothing of JavaScript since but what leaves its traces here. */
export function imageOf(pyodide) {
  const module = pyodide._module;
  const references = referencesOf(module.__hiwire_get);
  const immortalCount = referencesOf(module.__hiwire_immortal_get).length;
  const restoreFiles = photograph(pyodide.FS);
  const stack = module._emscripten_stack_get_current();
  const length = module.HEAPU8.length;
  const restoreMemory = photographMemory(module.HEAPU8);
  return {
    /** Whether it is as it was. */
    restore() {
      if (module.HEAPU8.length > length + MOST_GROWTH_BYTES) return false;
      if (referencesOf(module.__hiwire_immortal_get).length !== immortalCount) return false;
      const isSame = restoreReferences(module, references);
      restoreFiles();
      restoreMemory(module.HEAPU8);
      module.__emscripten_stack_restore(stack);
      return isSame;
    },
  };
}

/** A call puts the memory back, where it has grown as well. */
function photographMemory(bytes) {
  const memory = bufferOver(bytes);
  const pieces = [];
  for (let at = 0; at < memory.length; at += PIECE_BYTES) {
    const piece = memory.subarray(at, at + PIECE_BYTES);
    pieces.push(piece.equals(EMPTY) ? EMPTY : Buffer.from(piece));
  }
  return (bytesNow) => {
    const now = bufferOver(bytesNow);
    for (let at = 0, index = 0; at < now.length; at += PIECE_BYTES, index++) {
      const piece = pieces[index] ?? EMPTY;
      const isSame = now.compare(piece, 0, PIECE_BYTES, at, at + PIECE_BYTES) === 0;
      if (!isSame) piece.copy(now, at);
    }
  };
}

function bufferOver({ buffer, byteOffset, byteLength }) {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function referencesOf(get) {
  const references = [];
  for (;;) {
    try {
      references.push(get(references.length));
    } catch {
      return references;
    }
  }
}

/** Before the memory, which counts them. */
function restoreReferences(module, references) {
  const now = referencesOf(module.__hiwire_get);
  if (now.length < references.length) return false;
  now.forEach((value, index) => {
    const before = index < references.length ? references[index] : null;
    if (value !== before) module.__hiwire_set(index, before);
  });
  return true;
}

/** Everything that can be reached from an object, functions left out; a call puts it back. */
function photograph(root) {
  const bytes = new Map();
  const objects = new Map();
  const waiting = [root];
  while (waiting.length > 0) {
    const each = waiting.pop();
    if (typeof each !== 'object' || each === null || bytes.has(each) || objects.has(each)) continue;
    if (ArrayBuffer.isView(each)) bytes.set(each, Buffer.from(bufferOver(each)));
    else {
      objects.set(each, propertiesOf(each));
      waiting.push(...Object.values(each));
    }
  }
  return () => {
    for (const [each, before] of bytes) if (!before.equals(bufferOver(each))) before.copy(bufferOver(each));
    for (const [each, before] of objects) restoreProperties(each, before);
  };
}

function propertiesOf(object) {
  // What these hold is no property, so that it could not be put back.
  if (object instanceof Map || object instanceof Set)
    throw new Error('The files of this Pyodide are kept in a Map or Set, which an image does not know.');
  return { entries: Object.entries(object), length: object.length, prototype: Object.getPrototypeOf(object) };
}

/** An array may have gaps and a length of its own; a file called `__proto__` becomes the prototype of its folder. */
function restoreProperties(object, { entries, length, prototype }) {
  if (Object.getPrototypeOf(object) !== prototype) Object.setPrototypeOf(object, prototype);
  const names = Object.keys(object);
  const hasOthers = names.length !== entries.length || entries.some(([name], index) => name !== names[index]);
  if (hasOthers) for (const name of names) delete object[name];
  for (const [name, value] of entries) if (object[name] !== value) object[name] = value;
  if (Array.isArray(object)) object.length = length;
}
