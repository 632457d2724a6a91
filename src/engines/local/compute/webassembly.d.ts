/** The part of WebAssembly the compute folder uses; neither `lib: es2023` nor Node's types declare it. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum: number; shared: boolean });
    readonly buffer: SharedArrayBuffer;
  }
  type Module = object;
  const Module: new (bytes: Uint8Array) => Module;
  class Instance {
    constructor(module: Module, imports: { env: { memory: Memory } });
    readonly exports: unknown;
  }
}
