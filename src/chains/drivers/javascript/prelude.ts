/**
 * What a script finds around it, in its own language. It is evaluated inside the engine before the script; the engine holds
 * no function of the host: a call is a line in a mailbox, and its promise waits until the mailbox is answered.
 *
 * Invariant: nothing here is trusted. A script may bend all of it, and has then bent only itself: what it can say to the
 * host is the same list of asked calls, read field by field on the other side.
 * Next: inside-quickjs.ts (who empties the mailbox), ../child/step-frames.ts (who checks what is in it).
 */
import { leavingSource } from "./prelude-leaving.ts";
import { toolsSource } from "./prelude-tools.ts";
import { webSource } from "./prelude-web.ts";
import { worldSource } from "./prelude-world.ts";

export const preludeName = "postern:prelude";
export const scriptName = "script";

/** An expression: a function that takes the setting and returns the mailbox's slots. */
export const preludeSource: string = `(function (setting) {
  "use strict";
  const { names, aliases, outputBytes, argumentBytes } = JSON.parse(setting);
  const { parse, stringify } = JSON;
  const apply = Reflect.apply;
  const { bind, call } = Function.prototype;
  const uncurried = (method) => apply(bind, call, [method]);
  const [mapGet, mapSet, mapDelete, mapHas] = [Map.prototype.get, Map.prototype.set, Map.prototype.delete, Map.prototype.has].map(uncurried);
  const [setHas, setAdd] = [Set.prototype.has, Set.prototype.add].map(uncurried);
  const [weakGet, weakSet, weakHas] = [WeakMap.prototype.get, WeakMap.prototype.set, WeakMap.prototype.has].map(uncurried);
  const then = uncurried(Promise.prototype.then);
  const Text = String;
  const match = uncurried(RegExp.prototype.exec), find = uncurried(Text.prototype.indexOf), slice = uncurried(Text.prototype.slice), codeAt = uncurried(Text.prototype.charCodeAt);
  const now = Date.now;
  const Failure = Error, Wrong = TypeError, Later = Promise, Pairs = Map, Several = Set, Bytes = Uint8Array;
  const isFinite = Number.isFinite, isView = ArrayBuffer.isView;
  const isArray = Array.isArray, keysOf = Object.keys, prototypeOf = Object.getPrototypeOf, ordinary = Object.prototype;

  // ---- results and errors ----
  const handles = new WeakMap();
  class ToolResult {
    constructor(place, value) {
      const given = typeof value === "object" && value !== null ? value : { text: value === undefined ? "" : Text(value) };
      this.status = given.status ?? "ok";
      this.text = given.text ?? "";
      if (given.unread === undefined) this.structured = given.structured;
      else Object.defineProperty(this, "structured", { enumerable: false, get: () => { throw new ToolError({ code: "result_unavailable", message: given.unread }); } });
      this.ref = given.ref;
      this.files = given.files ?? [];
      if (given.summary !== undefined) this.summary = given.summary;
      weakSet(handles, this, { place, given });
    }
    async materialize() {
      const { place, given } = weakGet(handles, this);
      if (given.ref === undefined) {
        const text = this.text === "" && this.structured !== undefined ? stringify(this.structured) : this.text;
        return keep("/workspace/result_" + place + ".txt", text);
      }
      const { path, text, base64 } = (await ask("materialize", "materialize", { ref: given.ref })).given;
      return keep(path ?? "/workspace/result_" + place, base64 === undefined ? (text ?? "") : bytesOf(base64));
    }
    toString() {
      return this.text === "" && this.ref !== undefined ? this.ref : this.text;
    }
  }
  class ToolError extends Failure {
    constructor({ code, message, advice }, tool, line) {
      super(message ?? "The call failed.");
      this.name = "ToolError";
      this.code = code ?? "tool_failed";
      this.advice = advice ?? "";
      this.tool = tool;
      this.line = line;
    }
  }
  class ToolDenied extends ToolError {
    constructor(...given) {
      super(...given);
      this.name = "ToolDenied";
    }
  }

  // ---- the mailbox ----
  const asked = [];
  const waiting = new Pairs();
  let places = 0;
  function ask(kind, tool, given, action, written = stringify(tool)) {
    const line = lineHere();
    const text = isFlat(given) ? stringify(given) : writtenDeep(given);
    const acting = action === undefined ? "" : ',"action":' + stringify(Text(action));
    const place = places++; // nothing of the script's own runs from here on: it may throw, or ask
    asked[asked.length] = '{"place":' + place + ',"kind":"' + kind + '","tool":' + written + acting + (line === undefined ? "" : ',"line":' + line) +
      (text.length > argumentBytes ? ',"cutBytes":' + bytesIn(text) + ',"arguments":{}}' : ',"arguments":' + text + "}"); // the host counts too
    return new Later((resolve, reject) => {
      mapSet(waiting, place, { kind, tool, line, resolve, reject });
    });
  }
  /** Plain values under names, as most arguments are: as they stand they are what is written. */
  function isFlat(given) {
    if (prototypeOf(given) !== ordinary) return false;
    const keys = keysOf(given);
    for (let i = 0; i < keys.length; i++) {
      const value = given[keys[i]], kind = typeof value;
      if (kind !== "string" && kind !== "boolean" && !(kind === "number" && isExact(value))) return false;
    }
    return true;
  }
  function writtenDeep(given) {
    checkDepth(given);
    return stringify(given, forArgument);
  }
  /** What is deeper than any gate lets pass would also be too deep for whatever writes it down. */
  function checkDepth(given) {
    const seen = new Several();
    let level = [given];
    for (let depth = 0; level.length > 0; depth++) {
      if (depth > 190) throw new Wrong("The arguments are nested deeper than 190 levels.");
      const next = [];
      for (const one of level) {
        if (weakHas(handles, one) || setHas(seen, one)) continue;
        setAdd(seen, one);
        for (const key of keysOf(one)) if (typeof one[key] === "object" && one[key] !== null) next[next.length] = one[key];
      }
      level = next;
    }
  }
  function settle(text) {
    const results = parse(text);
    for (let i = 0; i < results.length; i++) {
      const result = results[i], one = mapGet(waiting, result.place);
      if (one === undefined) continue;
      mapDelete(waiting, result.place);
      const { kind, tool, line, resolve, reject } = one;
      if (result.status === "denied") reject(new ToolDenied(result, tool, line));
      else if (result.status === "error") reject(new ToolError(result, tool, line));
      else if (kind === "call" || kind === "artifact") resolve(new ToolResult(result.place, result.value));
      else if (kind === "help") resolve(result.value?.text ?? "");
      else if (kind === "progress") resolve(undefined);
      else resolve({ given: result.value ?? {} });
    }
  }
  /** A loop asks from one place again and again. */
  let lastStack, lastLine;
  function lineHere() {
    const { stack } = new Failure();
    if (stack !== lastStack) {
      lastLine = lineOf(stack);
      lastStack = stack;
    }
    return lastLine;
  }
  function lineOf(stack) {
    let at = typeof stack === "string" ? find(stack, "script:") : -1;
    if (at < 0) return undefined;
    let line = 0;
    for (at += 7; codeAt(stack, at) >= 48 && codeAt(stack, at) <= 57; at++) line = line * 10 + codeAt(stack, at) - 48;
    return line === 0 ? undefined : line;
  }

${leavingSource}
${worldSource}${webSource}${toolsSource}  async function help(tool) {
    if (tool === undefined || tool === tools) return ask("help", "help", {});
    const name = typeof tool === "string" ? tool : weakGet(isTool, tool);
    if (name === undefined) throw new Wrong("help takes a tool, as in help(tools.server.tool).");
    return ask("help", "help", { tool: name });
  }
  async function progress(message, fraction) {
    return ask("progress", "progress", { message: shown(message), ...(isFinite(fraction) ? { fraction } : {}) });
  }

  // ---- the script's end ----
  let state = "running", value, reason;
  /** Promises that failed and that nothing waits for: what a language that ends its programs for it calls unhandled. */
  const unheard = new Pairs();
  let unheardCount = 0;
  /** Says whether the script is at its end, so that it is stopped whatever it catches. */
  function notice(promise, problem, isHeard) {
    if (isSpent) return true;
    if (isHeard) unheardCount -= mapDelete(unheard, promise) ? 1 : 0;
    else if (unheardCount < 1000) { mapSet(unheard, promise, problem); unheardCount++; }
    return false;
  }
  function failUnheard() {
    const [first] = unheard.values();
    const { message, line } = failure(first);
    const more = unheardCount > 1 ? " (one of " + unheardCount + ")" : "";
    state = "failed";
    reason = { told: { message: message + " Nothing waited for it" + more + ": await every call.", ...(line === undefined ? {} : { line }) } };
  }
  function follow(promise) {
    then(promise, (result) => {
      const end = result?.value;
      const called = typeof end === "function" && !weakHas(isTool, end) ? end() : end; // a script that is one function is meant to be called
      return then(Later.resolve(called), (last) => { state = "done"; value = last; });
    }).catch((problem) => { state = "failed"; reason = problem; });
  }
  function drain() {
    if (state === "done" && unheardCount > 0 && asked.length === 0 && waiting.size === 0) failUnheard();
    if (isSpent) return '{"state":"spent"' + saidSoFar() + "}";
    if (asked.length > 0 && state === "running" && printed.length === 0 && timers.size === 0) {
      const text = '{"step":"calls","calls":[' + asked.join(",") + "]}"; // as the host reads it
      asked.length = 0;
      return text;
    }
    let text = '{"state":"' + state + '","timer":' + untilTimer() + saidSoFar();
    if (asked.length > 0) {
      text += ',"calls":[' + asked.join(",") + "]";
      asked.length = 0;
    } else text += ',"places":' + places + ',"open":[' + [...waiting.keys()].join(",") + "]";
    if (state === "failed") text += ',"reason":' + stringify(reason?.told ?? failure(reason));
    if (state === "done") {
      let end;
      try { end = stringify(value, forReading); } catch (problem) { return text + ',"unwritable":' + stringify(describe(problem)) + "}"; }
      if (end !== undefined) text += ',"value":' + end;
    }
    return text + "}";
  }
  function saidSoFar() {
    if (printed.length === 0) return "";
    const text = ',"printed":' + stringify(printed.map(({ stream, parts }) => ({ stream, text: parts.join("") })));
    printed = [];
    return text;
  }
  function failure(problem) {
    if (!(problem instanceof Failure)) return { message: "Thrown: " + shown(problem) };
    const told = problem instanceof ToolError ? " [" + problem.code + "] " + problem.advice : "";
    const line = lineOf(problem.stack) ?? problem.line;
    return { message: describe(problem) + told, ...(line === undefined ? {} : { line }) };
  }

  const offer = { tools, crypto, performance, Buffer, URLSearchParams: Query, artifacts, files, help, progress, console, ToolResult, ToolError, ToolDenied,
    print: out, sleep: (ms) => new Later((resolve) => later(resolve, ms, false, [])),
    setTimeout: (run, ms, ...given) => later(run, ms, false, given), setInterval: (run, ms, ...given) => later(run, ms, true, given),
    clearTimeout: forget, clearInterval: forget };
  for (const name of keysOf(offer)) Object.defineProperty(globalThis, name, { value: offer[name], writable: true, configurable: true, enumerable: false });
  return { settle, drain, tick, follow, begin, notice };
})`;
