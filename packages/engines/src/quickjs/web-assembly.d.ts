/** The part of WebAssembly that is used here. Node's own types lack it, and the browser's types would add the DOM. */
declare namespace WebAssembly {
  function validate(bytes: Uint8Array): boolean;
  class Module {
    constructor(bytes: Uint8Array);
  }
  class RuntimeError extends Error {}
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
}
