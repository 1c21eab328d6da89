// What a script does without the host: printing, files in its own memory, random numbers, timers.
// ---- printing ----
let printed = [];
/** The most changes between the two streams; later text is added to the last entry, because the host bounds the list. */
const mostSwitches = 5000;
let room = outputBytes;
/** Whether the output limit is passed. The script may catch the error, but it is stopped anyway. */
let isSpent = false;
const stop = (_, reject) => reject();
function print(stream, given) {
  let text = "";
  if (!isSpent) for (let i = 0; i < given.length; i++) text += (i === 0 ? "" : " ") + shown(given[i]);
  room -= text.length + 1; // characters; the child process counts bytes
  isSpent ||= room < 0;
  if (isSpent) {
    new Later(stop); // the engine reports every failed promise to `notice`, which stops the script
    throw new Failure("The script printed more than " + outputBytes + " bytes.");
  }
  const last = printed[printed.length - 1];
  if (last !== undefined && (last.stream === stream || printed.length >= mostSwitches))
    last.parts[last.parts.length] = text + "\n";
  else printed[printed.length] = { stream, parts: [text + "\n"] };
}
/** The length in UTF-8. Half of a surrogate pair counts as its replacement character. */
function bytesIn(text) {
  let bytes = text.length;
  if (match(/[^\0-\x7f]/, text) === null) return bytes;
  for (let i = 0; i < text.length; i++) {
    const code = codeAt(text, i);
    const isPair = code >= 0xd800 && code < 0xdc00 && codeAt(text, i + 1) >= 0xdc00 && codeAt(text, i + 1) < 0xe000;
    bytes += code < 0x80 ? 0 : code < 0x800 ? 1 : 2;
    if (isPair) i++;
  }
  return bytes;
}
function shown(value) {
  if (typeof value === "string") return value;
  if (typeof value === "symbol") return value.toString();
  if (typeof value !== "object" || value === null)
    return typeof value === "function" ? forReading("", value) : Text(value);
  try {
    if (weakHas(handles, value)) return value.toString();
    if (value instanceof Failure) return describe(value) + (value.stack ? "\n" + value.stack : "");
    return stringify(value, forReading) ?? Text(value);
  } catch (error) {
    return "[" + describe(error) + "]";
  }
}
const out = (...given) => print("out", given);
const error = (...given) => print("error", given);
const quiet = () => undefined;
const count = new Pairs();
const console = {
  log: out,
  info: out,
  debug: out,
  dir: out,
  table: out,
  group: out,
  groupEnd: quiet,
  error,
  warn: error,
  trace: error,
  assert: (fine, ...given) => fine || print("error", ["Assertion failed:", ...given]),
  time: quiet,
  timeEnd: quiet,
  timeLog: quiet,
  count: (label = "default") => {
    mapSet(count, label, (mapGet(count, label) ?? 0) + 1);
    print("out", [label + ": " + mapGet(count, label)]);
  },
};

// ---- files of the script, in its own memory ----
const kept = new Pairs();
function keep(path, content) {
  mapSet(kept, path, content);
  return path;
}
const files = {
  read: (path) => {
    if (!mapHas(kept, path))
      throw new Failure(
        "There is no file " + shown(path) + "; there are: " + ([...kept.keys()].join(", ") || "none") + ".",
      );
    return mapGet(kept, path);
  },
  write: (path, content) => {
    if (typeof path !== "string" || !match(/^\/workspace\/[^\0]+$/, path) || match(/(^|\/)\.\.?(\/|$)/, path))
      throw new Wrong("A path begins with /workspace/ and goes nowhere else.");
    if (typeof content !== "string" && !(content instanceof Bytes))
      throw new Wrong("A file's content is text or a Uint8Array.");
    return keep(path, content);
  },
  list: () => [...kept.keys()],
};
const artifacts = {
  put: async (path, type = "text/plain") => {
    const content = files.read(path);
    if (content.length <= pieceLength) return ask("artifact", "artifact", { path, type, ...bodyOf(content) });
    const pieces = [];
    for (let at = 0; at < content.length; ) {
      const end = at + pieceLength - (isPairAt(content, at + pieceLength - 1) ? 1 : 0);
      const kept = await ask("artifact", "artifact", { piece: true, ...bodyOf(content.slice(at, end)) });
      pieces[pieces.length] = kept.ref;
      at = end;
    }
    return ask("artifact", "artifact", { path, type, pieces });
  },
};
/** In characters: JSON may need six bytes for one. */
const pieceLength = argumentBytes >> 3;
const bodyOf = (content) => (typeof content === "string" ? { text: content } : { base64: btoa(binary(content)) });
const isPairAt = (content, at) =>
  typeof content === "string" && codeAt(content, at) >= 0xd800 && codeAt(content, at) < 0xdc00;
function binary(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += Text.fromCharCode(bytes[i]);
  return text;
}
function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Bytes(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// ---- random numbers from a seed (sfc32), so that a replay gets the same ----
const { begin, random } = (() => {
  let [a, b, c, n] = [0, 0, 0, 1];
  const draw = () => {
    const drawn = (a + b + n) | 0;
    n = (n + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + drawn) | 0;
    return drawn >>> 0;
  };
  return {
    begin: (seed) => {
      performance.timeOrigin = now();
      [a, b, c, n] = parse(seed);
      for (let i = 0; i < 12; i++) draw();
    },
    random: () => ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992,
  };
})();
Object.defineProperty(Math, "random", { value: random, writable: true, configurable: true, enumerable: false });

// ---- texts of a place: the engine knows no languages, one time zone and no currencies ----
for (const [Kind, names] of [
  [Date, ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]],
  [Number, ["toLocaleString"]],
  [BigInt, ["toLocaleString"]],
])
  for (const name of names) {
    const plainly = uncurried(Kind.prototype[name]);
    const method = {
      [name](_, options) {
        checkPlace(name, options ?? {});
        return plainly(this);
      },
    };
    Object.defineProperty(Kind.prototype, name, {
      value: method[name],
      writable: true,
      configurable: true,
      enumerable: false,
    });
  }
function checkPlace(name, { timeZone, style, currency }) {
  if (timeZone !== undefined && match(/^(?:etc\/)?(?:utc|gmt)$/i, Text(timeZone)) === null)
    throw new Wrong(
      name + ": the time zone " + shown(timeZone) + " is not here, only UTC. Add its offset, or format it with a tool.",
    );
  if (currency === undefined && (style === undefined || style === "decimal")) return;
  const wanted = currency === undefined ? "style " + shown(style) : "currency " + shown(currency);
  throw new Wrong(name + ": the " + wanted + " is not here. Write the number with toFixed and add the sign.");
}

// ---- time ----
const timers = new Pairs();
/** As long as a timer of Node can be; a longer one waits that long. */
const longestTimerMs = 2147483647;
let timerId = 0;
function later(run, ms, again, given) {
  if (typeof run !== "function") throw new Wrong("A timer needs a function.");
  const wait = ms > longestTimerMs ? longestTimerMs : ms > 0 ? +ms : 0;
  mapSet(timers, ++timerId, { due: now() + wait, run, again: again ? (wait < 1 ? 1 : wait) : undefined, given });
  return timerId;
}
const forget = (id) => void mapDelete(timers, id);
function tick() {
  const at = now();
  const due = [...timers].filter(([, timer]) => timer.due <= at).sort(([a, x], [b, y]) => x.due - y.due || a - b);
  for (const [id, timer] of due) {
    if (!mapHas(timers, id)) continue;
    if (timer.again === undefined) mapDelete(timers, id);
    else timer.due = at + timer.again;
    try {
      timer.run(...timer.given);
    } catch (problem) {
      error("A timer failed:", problem);
    }
  }
}
/** Milliseconds to the next timer, or -1. An interval alone does not keep a finished script alive. */
function untilTimer() {
  if (timers.size === 0) return -1;
  let next = -1,
    isHeld = state !== "done";
  const at = now();
  for (const { due, again } of timers.values()) {
    if (next < 0 || due - at < next) next = due <= at ? 1 : due - at;
    if (again === undefined) isHeld = true;
  }
  return isHeld ? next : -1;
}
