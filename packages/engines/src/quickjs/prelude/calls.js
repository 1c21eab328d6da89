// The functions of the engine that the prelude keeps, tool results, errors, and calls to the host.
// A script may replace every global, so the prelude uses the functions it kept.
const { names, outputBytes, argumentBytes } = JSON.parse(setting);
const { parse, stringify } = JSON;
const apply = Reflect.apply;
const { bind, call } = Function.prototype;
const uncurried = (method) => apply(bind, call, [method]);
const [mapGet, mapSet, mapDelete, mapHas] = [
  Map.prototype.get,
  Map.prototype.set,
  Map.prototype.delete,
  Map.prototype.has,
].map(uncurried);
const [setHas, setAdd] = [Set.prototype.has, Set.prototype.add].map(uncurried);
const [weakGet, weakSet, weakHas] = [WeakMap.prototype.get, WeakMap.prototype.set, WeakMap.prototype.has].map(
  uncurried,
);
const then = uncurried(Promise.prototype.then);
const Text = String;
const match = uncurried(RegExp.prototype.exec),
  find = uncurried(Text.prototype.indexOf),
  slice = uncurried(Text.prototype.slice),
  codeAt = uncurried(Text.prototype.charCodeAt);
const now = Date.now;
const Failure = Error,
  Wrong = TypeError,
  Later = Promise,
  Pairs = Map,
  Several = Set,
  Bytes = Uint8Array;
const isFiniteNumber = Number.isFinite,
  isView = ArrayBuffer.isView;
const isArray = Array.isArray,
  keysOf = Object.keys,
  prototypeOf = Object.getPrototypeOf,
  ordinary = Object.prototype;

// ---- results and errors ----
const handles = new WeakMap();
class ToolResult {
  constructor(place, value) {
    const given =
      typeof value === "object" && value !== null ? value : { text: value === undefined ? "" : Text(value) };
    this.status = given.status ?? "ok";
    this.text = given.text ?? "";
    if (given.unread === undefined) this.structured = given.structured;
    else
      Object.defineProperty(this, "structured", {
        enumerable: false,
        get: () => {
          throw new ToolError({ code: "result_unavailable", message: given.unread });
        },
      });
    this.ref = given.ref;
    this.files = given.files ?? [];
    if (given.summary !== undefined) this.summary = given.summary;
    if (given.notes !== undefined) Object.defineProperty(this, "notes", { enumerable: true, value: given.notes });
    weakSet(handles, this, { place, given });
  }
  /** Sentences that say how the result differs from the request. */
  get notes() {
    return [];
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
/** Names that a script asks any object for. A result does not have them. */
const asksOfAny = new Several(["then", "toJSON", "summary", "error", "isError"]);
/** Answers for every name that a result does not have. */
const unknownMember = {
  get(_, name, result) {
    if (name in ordinary) return ordinary[name];
    const known = weakGet(handles, result);
    if (known === undefined || typeof name === "symbol" || setHas(asksOfAny, name)) return undefined;
    const { structured } = known.given;
    const isWithin = typeof structured === "object" && structured !== null && name in structured;
    throw new Wrong(
      "A result has no ." +
        name +
        ": it has text, structured, ref, files, notes, status and materialize()." +
        (isWithin ? " Its data is in .structured: read .structured." + name + "." : ""),
    );
  },
};
Object.setPrototypeOf(ToolResult.prototype, new Proxy(ordinary, unknownMember));
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

// ---- calls: text that the host reads; a promise waits for each ----
const asked = [];
const waiting = new Pairs();
let places = 0;
function ask(kind, tool, given, action, written = stringify(tool)) {
  const line = lineHere();
  const text = isFlat(given) ? stringify(given) : writtenDeep(given);
  const acting = action === undefined ? "" : ',"action":' + stringify(Text(action));
  const place = places++; // below, nothing of the script runs: it could throw or make another call
  asked[asked.length] =
    '{"place":' +
    place +
    ',"kind":"' +
    kind +
    '","tool":' +
    written +
    acting +
    (line === undefined ? "" : ',"line":' + line) +
    (text.length > argumentBytes ? ',"cutBytes":' + bytesIn(text) + ',"arguments":{}}' : ',"arguments":' + text + "}"); // the host counts too
  return new Later((resolve, reject) => {
    mapSet(waiting, place, { kind, tool, line, resolve, reject });
  });
}
/** Whether JSON.stringify alone writes these arguments correctly. */
function isFlat(given) {
  if (prototypeOf(given) !== ordinary) return false;
  const keys = keysOf(given);
  for (let i = 0; i < keys.length; i++) {
    const value = given[keys[i]],
      kind = typeof value;
    if (kind !== "string" && kind !== "boolean" && !(kind === "number" && isExact(value))) return false;
  }
  return true;
}
function writtenDeep(given) {
  checkDepth(given);
  return stringify(given, forArgument);
}
/** Refuses values that are too deep for stringify and for the host. */
function checkDepth(given) {
  const seen = new Several();
  let level = [given];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > 190) throw new Wrong("The arguments are nested deeper than 190 levels.");
    const next = [];
    for (const one of level) {
      if (weakHas(handles, one) || setHas(seen, one)) continue;
      setAdd(seen, one);
      for (const key of keysOf(one))
        if (typeof one[key] === "object" && one[key] !== null) next[next.length] = one[key];
    }
    level = next;
  }
}
function settle(text) {
  const results = parse(text);
  for (let i = 0; i < results.length; i++) {
    const result = results[i],
      one = mapGet(waiting, result.place);
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
/** Remembers the last stack: a loop calls from one place many times. */
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
