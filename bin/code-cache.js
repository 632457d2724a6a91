/**
 * Keeps what a command has to load from one start to the next: most of the CPU time of a short command is reading and
 * compiling its modules.
 *
 * One file a command, in the cache folder: of each module its source, V8's code of it (functions that ran included), and
 * what its `require` calls found. A module counts only while its file has the size and time it had, a package is found
 * anew once something was installed, and other V8s have other files. Whole files are written at the end of a process and renamed, so two at once do no harm;
 * where none can be read or written, modules load as they always do.
 *
 * Node 22.1 has a cache of its own, which is used instead. NODE_DISABLE_COMPILE_CACHE=1 switches either off.
 */
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const v8 = require('node:v8');
const vm = require('node:vm');
const { crc32 } = require('node:zlib');

/** Says how a file is laid out: 4 bytes length of the JSON that follows, then sources and code. */
const FORMAT = 1;
/** A start that lasted this long ran the functions that later ones need; one that only showed help did not. */
const LEARNING_SECONDS = 1;
const MOST_LEARNING_STARTS = 3;
const MOST_FILES = 16;
const INSTALL_RECORDS = ['.package-lock.json', '.modules.yaml', '.yarn-state.yml'];

/** @param {{ root: string, command: string, folder: string | null }} options `folder` is null where there is no safe place */
function keepCode({ root, command, folder }) {
  if (folder === null || process.env.NODE_DISABLE_COMPILE_CACHE || process.env.NODE_V8_COVERAGE) return;
  if (Module.enableCompileCache) {
    Module.enableCompileCache(folder);
    return;
  }
  // What source maps are read from is what Node itself compiles.
  if (process.sourceMapsEnabled) return;
  const cache = new CodeCache(root, folder, command);
  cache.install();
  process.on('exit', () => cache.save());
}

class CodeCache {
  constructor(root, folder, command) {
    this.root = fs.realpathSync(root) + path.sep;
    this.packages = packagesOf(root);
    this.installed = this.packages === null ? null : installStamp(this.packages);
    const key = [FORMAT, this.root, process.version, process.arch, v8.cachedDataVersionTag()].join('\0');
    const digest = createHash('sha256').update(key).digest('hex').slice(0, 16);
    this.file = path.join(folder, `${command}-${digest}.bin`);
    this.stored = readStored(this.file);
    /** What this process compiled: filename → script, and the stamp its file had. */
    this.used = new Map();
    this.found = new Map();
    this.missed = 0;
  }

  install() {
    const resolve = Module._resolveFilename;
    const compile = Module.prototype._compile;
    const load = Module._extensions['.js'];
    const cache = this;
    Module._resolveFilename = function (request, parent, isMain, options) {
      const place = options ? null : cache.placeOf(request, parent);
      const known = place && cache.knownAt(place, request);
      if (known) return known;
      const found = resolve.call(this, request, parent, isMain, options);
      if (place && path.isAbsolute(found)) cache.remember(place, request, found);
      return found;
    };
    Module._extensions['.js'] = function (module, filename) {
      const run = cache.storedFunction(filename);
      if (run === null) load.call(this, module, filename);
      else start(run, module, filename);
    };
    Module.prototype._compile = function (content, filename, format) {
      const run = format === 'module' ? null : cache.newFunction(content, filename);
      if (run === null) return compile.call(this, content, filename, format);
      return start(run, this, filename);
    };
  }

  /** Folder whose `require`s are remembered; null where they are not. */
  placeOf(request, parent) {
    if (!parent?.filename || !this.isOurs(parent.filename)) return null;
    const isRelative = request.startsWith('./') || request.startsWith('../');
    return isRelative || this.installed !== null ? parent.path : null;
  }

  isOurs(filename) {
    return filename.startsWith(this.root) || (this.packages !== null && filename.startsWith(this.packages));
  }

  knownAt(place, request) {
    const { requests, installed } = this.stored;
    const filename = requests.get(place)?.get(request);
    if (filename === undefined || !this.entryOf(filename)) return null;
    if (!request.startsWith('.') && installed !== this.installed) return null;
    this.remember(place, request, filename);
    return filename;
  }

  remember(place, request, filename) {
    if (!this.found.has(place)) this.found.set(place, new Map());
    this.found.get(place).set(request, filename);
  }

  /** What is stored of a module whose file has not changed since. */
  entryOf(filename) {
    const entry = this.stored.modules.get(filename);
    if (!entry) return null;
    entry.isValid ??= stampOf(filename) === entry.stamp;
    return entry.isValid ? entry : null;
  }

  /** Of a module whose file has not changed; null where it has, or never was here. */
  storedFunction(filename) {
    const entry = this.entryOf(filename);
    if (!entry) return null;
    const bytes = this.bytesOf(entry);
    if (bytes === null) {
      entry.isValid = false;
      return null;
    }
    const text = bytes.toString(entry.encoding, entry.codeLength);
    return this.functionOf(text, { filename, stamp: entry.stamp, code: bytes.subarray(0, entry.codeLength) });
  }

  newFunction(content, filename) {
    if (!this.isOurs(filename) || !/\.c?js$/.test(filename) || content.startsWith('#!')) return null;
    // What `import()` means is only said of modules that Node compiles.
    if (/\bimport\s*\(/.test(content)) return null;
    return this.functionOf(Module.wrap(content), { filename, stamp: stampOf(filename) });
  }

  functionOf(text, { filename, stamp, code }) {
    try {
      const script = new vm.Script(text, {
        filename,
        cachedData: code,
      });
      if (!code || script.cachedDataRejected) this.missed++;
      this.used.set(filename, { script, stamp });
      return script.runInThisContext();
    } catch {
      // What is no CommonJS, or wrong, is for Node to load or to report.
      return null;
    }
  }

  /** Code first: V8 copies what does not begin at a whole word. */
  bytesOf({ offset, sourceLength, codeLength, checksum }) {
    const bytes = Buffer.allocUnsafe(sourceLength + codeLength);
    try {
      const count = fs.readSync(this.stored.handle, bytes, 0, bytes.length, this.stored.start + offset);
      return count === bytes.length && crc32(bytes) === checksum ? bytes : null;
    } catch {
      return null;
    }
  }

  save() {
    if (this.missed === 0 && this.stored.isLearned) return;
    try {
      fs.mkdirSync(path.dirname(this.file), { recursive: true, mode: 0o700 });
      writeWhole(this.file, this.contents());
      removeOldest(path.dirname(this.file));
    } catch {
      // A full disk or a folder of others costs the next start its time, as before.
    }
  }

  /** What is stored and still true, and what this process adds. */
  contents() {
    const modules = [];
    const parts = [];
    let offset = 0;
    for (const filename of new Set([...this.stored.modules.keys(), ...this.used.keys()])) {
      const bytes = this.newest(filename);
      if (bytes === null) continue;
      const { stamp, encoding, source, code } = bytes;
      parts.push(code, source);
      const checksum = crc32(source, crc32(code));
      modules.push([filename, stamp, encoding, offset, source.length, code.length, checksum]);
      offset += source.length + code.length;
    }
    const starts = this.stored.starts + 1;
    const isNow = process.uptime() > LEARNING_SECONDS || starts >= MOST_LEARNING_STARTS;
    const isLearned = this.stored.isLearned || isNow;
    const header = { starts, isLearned, installed: this.installed, modules, requests: this.requests() };
    const text = Buffer.from(JSON.stringify(header));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return [length, text, ...parts];
  }

  /** What the modules kept ask for, as far as nothing was installed since. */
  requests() {
    const { installed, requests } = this.stored;
    const all = new Map(installed === this.installed ? requests : []);
    for (const [place, found] of this.found) all.set(place, new Map([...(all.get(place) ?? []), ...found]));
    return [...all].map(([place, found]) => [place, [...found]]);
  }

  newest(filename) {
    const entry = this.entryOf(filename);
    const bytes = entry && this.bytesOf(entry);
    const stored = bytes && {
      stamp: entry.stamp,
      encoding: entry.encoding,
      code: bytes.subarray(0, entry.codeLength),
      source: bytes.subarray(entry.codeLength),
    };
    const used = this.used.get(filename);
    if (!used || (stored && this.stored.isLearned && !used.script.cachedDataRejected)) return stored;
    const code = used.script.createCachedData();
    // V8 forgets code that has not run for a while.
    if (stored && !used.script.cachedDataRejected && code.length <= stored.code.length) return stored;
    if (stampOf(filename) !== used.stamp) return null;
    const text = Module.wrap(fs.readFileSync(filename, 'utf8'));
    const encoding = /^[\0-\xff]*$/.test(text) ? 'latin1' : 'utf8';
    return { stamp: used.stamp, encoding, source: Buffer.from(text, encoding), code };
  }
}

/** The folder the program's packages are in; null where they are not in one. */
function packagesOf(root) {
  try {
    const manifest = require.resolve('zod/package.json', { paths: [root] });
    return path.dirname(path.dirname(manifest)) + path.sep;
  } catch {
    return null;
  }
}

/** Changes when packages are installed; null where that cannot be told. */
function installStamp(packages) {
  for (const name of INSTALL_RECORDS) {
    const stamp = stampOf(path.join(packages, name));
    if (stamp !== null) return stamp;
  }
  return null;
}

function stampOf(filename) {
  const stat = fs.statSync(filename, { throwIfNoEntry: false });
  return stat ? `${stat.size} ${stat.mtimeMs}` : null;
}

function readStored(file) {
  const nothing = {
    handle: -1,
    start: 0,
    starts: 0,
    isLearned: false,
    installed: null,
    modules: new Map(),
    requests: new Map(),
  };
  let handle = -1;
  try {
    handle = fs.openSync(file, 'r');
    // Code of somebody else is not run.
    if (process.getuid && fs.fstatSync(handle).uid !== process.getuid()) throw new Error('not ours');
    const length = Buffer.alloc(4);
    fs.readSync(handle, length, 0, 4, 0);
    const text = Buffer.alloc(length.readUInt32LE());
    if (fs.readSync(handle, text, 0, text.length, 4) !== text.length) throw new Error('cut short');
    const { starts, isLearned, installed, modules, requests } = JSON.parse(text.toString());
    const entries = modules.map(([filename, stamp, encoding, offset, sourceLength, codeLength, checksum]) => [
      filename,
      { stamp, encoding, offset, sourceLength, codeLength, checksum },
    ]);
    return {
      handle,
      start: 4 + text.length,
      starts,
      isLearned,
      installed,
      modules: new Map(entries),
      requests: new Map(requests.map(([place, found]) => [place, new Map(found)])),
    };
  } catch {
    if (handle >= 0) fs.closeSync(handle);
    return nothing;
  }
}

function writeWhole(file, parts) {
  const work = `${file}.${process.pid}`;
  try {
    const handle = fs.openSync(work, 'w', 0o600);
    try {
      fs.writeFileSync(handle, Buffer.concat(parts));
    } finally {
      fs.closeSync(handle);
    }
    fs.renameSync(work, file);
  } catch (error) {
    fs.rmSync(work, { force: true });
    throw error;
  }
}

/** Builds that are gone leave theirs behind. */
function removeOldest(folder) {
  const files = fs
    .readdirSync(folder)
    .filter((name) => name.includes('.bin'))
    .map((name) => ({ file: path.join(folder, name), time: fs.statSync(path.join(folder, name)).mtimeMs }));
  files.sort((one, other) => other.time - one.time);
  for (const { file } of files.slice(MOST_FILES)) fs.rmSync(file, { force: true });
}

function start(run, module, filename) {
  return run.call(
    module.exports,
    module.exports,
    requireOf(module),
    module,
    filename,
    path.dirname(filename),
  );
}

/** As Node makes it for a module that it compiles. */
function requireOf(module) {
  const require = (id) => module.require(id);
  require.resolve = (request, options) => Module._resolveFilename(request, module, false, options);
  require.resolve.paths = (request) => Module._resolveLookupPaths(request, module);
  require.main = process.mainModule;
  require.extensions = Module._extensions;
  require.cache = Module._cache;
  return require;
}

module.exports = { keepCode };
