/**
 * Copies text into a machine's memory and out of it, through one buffer that stays allocated. Each call of a script does both.
 *
 * Why: the package allocates a buffer and two views each time. That is a fifth of the row "the bridge, a call" of the
 * benchmarks.
 */
import { JSException, type JSValueHandle, type QuickJS } from "quickjs-wasi";

/** Longer text goes through the package. */
const roomBytes = 16 * 1024;
const mostBytesOfUnit = 3;
const pointerBytes = 4;

export class MachineText {
  readonly #vm: QuickJS;
  readonly #engine: ReturnType<QuickJS["_getExports"]>;
  #memory: Buffer = Buffer.alloc(0);
  /** The buffer's address in the machine's memory: a pointer, then the text. 0 when there is none. */
  #place = 0;

  constructor(vm: QuickJS) {
    this.#vm = vm;
    this.#engine = vm._getExports();
  }

  /** Calls a function of the machine with a text and drops the result. @throws JSException */
  say(to: JSValueHandle, words: string): void {
    const place = words.length * mostBytesOfUnit <= roomBytes ? this.#room() : 0;
    if (place === 0) {
      const text = this.#vm.newString(words);
      this.#vm.callFunction(to, this.#vm.undefined, text).dispose();
      text.dispose();
      return;
    }
    const engine = this.#engine;
    const written = this.#bytes().write(words, place + pointerBytes, "utf8");
    const text = engine.qjs_new_string(place + pointerBytes, written);
    this.#bytes().writeUInt32LE(text, place);
    const result = engine.qjs_call(to.ptr, this.#vm.undefined.ptr, 1, place);
    engine.qjs_free_value(text);
    this.#check(result);
    engine.qjs_free_value(result);
  }

  /** The text that a function of the machine returns. @throws JSException */
  ask(from: JSValueHandle): string {
    const place = this.#room();
    if (place === 0) return this.#vm.callFunction(from, this.#vm.undefined).consume((text) => text.toString());
    const engine = this.#engine;
    const result = engine.qjs_call(from.ptr, this.#vm.undefined.ptr, 0, 0);
    this.#check(result);
    const at = engine.qjs_get_string_len(result, place);
    if (at === 0) throw new JSException(this.#vm.getException());
    const bytes = this.#bytes();
    const text = bytes.toString("utf8", at, at + bytes.readUInt32LE(place));
    engine.qjs_free_cstring(at);
    engine.qjs_free_value(result);
    return text;
  }

  /** Frees the buffer before the machine is frozen. */
  free(): void {
    if (this.#place !== 0) this.#engine.wasm_free(this.#place);
    this.#place = 0;
  }

  #room(): number {
    if (this.#place === 0) this.#place = this.#engine.wasm_malloc(pointerBytes + roomBytes);
    return this.#place;
  }

  /** Memory that has grown has a new buffer. */
  #bytes(): Buffer {
    const { buffer } = this.#engine.memory;
    if (this.#memory.buffer !== buffer) this.#memory = Buffer.from(buffer);
    return this.#memory;
  }

  #check(result: number): void {
    if (this.#engine.qjs_is_exception(result) === 0) return;
    this.#engine.qjs_free_value(result);
    throw new JSException(this.#vm.getException());
  }
}
