/**
 * What an interpreter asks of JavaScript, told apart by what is left of it.
 *
 * What is named here leaves traces in the interpreter's memory, its table of references and its files only, all of which an image
 * puts back. Everything else (foreign functions, libraries, sockets, pipes, timers, objects of JavaScript) may leave some
 * elsewhere: in what all interpreters of a process share, such as the prototypes of JavaScript's objects.
 */
/** The version whose functions were read for the list below. Another one's are to be read again, each of them, before this is changed. */
export const READ_FOR = '314.0.7';

const FORGOTTEN = new Set(
  `Jsv_GetError_import JsvError_Check JsvNum_fromInt JsvNum_fromDouble JsvNum_toInt JsvNoValue_Check JsvArray_Get Jsv_to_bool Jsv_typeof
  js2python_immutable_js js2python_js js2python_convert JsvUTF8ToString _python2js_ascii _python2js_ucs1 _python2js_ucs2 _python2js_ucs4
  pyproxy_Check is_comlink_proxy _Py_emscripten_runtime _Py_CheckEmscriptenSignals_Helper _PyEM_TrampolineCall_JS throw_no_gil
  __call_sighandler __syscall_getuid32_js __syscall_umask_js __syscall_fcntl64 _try_fcntl64 __syscall_openat
  __syscall_faccessat __syscall_chdir __syscall_chmod __syscall_fchownat __syscall_fchdir __syscall_fchmod __syscall_fchmodat2
  __syscall_fchown32 __syscall_fdatasync __syscall_fstat64 __syscall_stat64 __syscall_newfstatat __syscall_lstat64
  __syscall_ftruncate64 __syscall_getcwd __syscall_getdents64 __syscall_dup __syscall_dup3 __syscall_mkdirat __syscall_mknodat
  __syscall_fadvise64 __syscall_fallocate __syscall_readlinkat __syscall_unlinkat __syscall_rmdir __syscall_renameat
  __syscall_statfs64 __syscall_fstatfs64 __syscall_symlinkat __syscall_truncate64 __syscall_utimensat
  _tzset_js _timegm_js _mktime_js _localtime_js _gmtime_js emscripten_date_now emscripten_get_now emscripten_get_heap_max
  emscripten_resize_heap _emscripten_get_progname environ_sizes_get environ_get fd_close fd_read fd_write fd_sync
  fd_fdstat_get fd_seek fd_pread fd_pwrite clock_res_get clock_time_get random_get`.split(/\s+/),
);

/** The imports of a module; `onOther` hears of the name of each function asked for that may leave something elsewhere. */
export function watchImports(module, imports, onOther) {
  const watched = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    const given = imports[from][name];
    watched[from] ??= {};
    watched[from][name] =
      kind !== 'function' || FORGOTTEN.has(name) ? given : watchOne(given, () => onOther(name));
  }
  return watched;
}

function watchOne(given, onCall) {
  return (...values) => {
    onCall();
    return given(...values);
  };
}
