/**
 * An interpreter as it is before any program, to which it can be put back: its memory, its references to JavaScript and its files.
 *
 * Putting it back copies the memory and takes some milliseconds; another interpreter takes some hundreds, most of them for
 * linking.
 */

/** A program that took more memory leaves more to clear than another interpreter costs. */
const MOST_GROWTH_BYTES = 64 * 1024 * 1024;

/** Only for an interpreter that has asked nothing of JavaScript since but what leaves its traces here. */
export function imageOf(pyodide) {
  const module = pyodide._module;
  const references = referencesOf(module.__hiwire_get);
  const immortalCount = referencesOf(module.__hiwire_immortal_get).length;
  const restoreFiles = photograph(pyodide.FS);
  const stack = module._emscripten_stack_get_current();
  const memory = module.HEAPU8.slice();
  return {
    /** Whether it is as it was. */
    restore() {
      if (module.HEAPU8.length > memory.length + MOST_GROWTH_BYTES) return false;
      if (referencesOf(module.__hiwire_immortal_get).length !== immortalCount) return false;
      const isSame = restoreReferences(module, references);
      restoreFiles();
      module.HEAPU8.set(memory);
      module.HEAPU8.fill(0, memory.length);
      module.__emscripten_stack_restore(stack);
      return isSame;
    },
  };
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
  const seen = new Map();
  const waiting = [root];
  while (waiting.length > 0) {
    const each = waiting.pop();
    if (typeof each !== 'object' || each === null || seen.has(each)) continue;
    if (each instanceof Uint8Array) seen.set(each, new Uint8Array(each));
    else {
      seen.set(each, { entries: Object.entries(each), length: each.length });
      waiting.push(...Object.values(each));
    }
  }
  return () => {
    for (const [each, before] of seen) {
      if (each instanceof Uint8Array) each.set(before);
      else restoreProperties(each, before);
    }
  };
}

/** An array may have gaps and a length of its own. */
function restoreProperties(object, { entries, length }) {
  const names = Object.keys(object);
  const hasOthers = names.length !== entries.length || entries.some(([name], index) => name !== names[index]);
  if (hasOthers) for (const name of names) delete object[name];
  for (const [name, value] of entries) if (object[name] !== value) object[name] = value;
  if (Array.isArray(object)) object.length = length;
}
