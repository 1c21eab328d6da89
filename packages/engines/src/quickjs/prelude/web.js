// What Node offers and neither the engine nor its extensions do: crypto, performance, URLSearchParams, Buffer.
// ---- random numbers and time: the same in every replay, so nothing here is a secret ----
const crypto = {
  getRandomValues: (array) => {
    for (let at = 0; at < array.length; at++) array[at] = Math.floor(random() * 2 ** (8 * array.BYTES_PER_ELEMENT));
    return array;
  },
  randomUUID: () => {
    const bytes = crypto.getRandomValues(new Bytes(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return Buffer.from(bytes)
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  },
};
const performance = { timeOrigin: 0, now: () => now() - performance.timeOrigin };

// ---- the query of a URL: the engine's URL has only the text ----
const urlOf = new WeakMap(),
  queryOf = new WeakMap(),
  PlainQuery = URLSearchParams,
  plain = PlainQuery.prototype;
class Query extends PlainQuery {
  constructor(init = "") {
    const isText = typeof init !== "object" || init instanceof PlainQuery;
    super(isText ? Text(init) : "");
    if (!isText)
      for (const [name, value] of init[Symbol.iterator] === undefined ? Object.entries(init) : init)
        super.append(Text(name), Text(value));
  }
  get size() {
    readUrl(this);
    return super.size;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
}
/** A URL and its query are one value: each method reads the URL first and writes changes back. */
for (const name of [
  "get",
  "getAll",
  "has",
  "toString",
  "forEach",
  "entries",
  "keys",
  "values",
  "append",
  "delete",
  "set",
  "sort",
])
  Object.defineProperty(Query.prototype, name, {
    writable: true,
    configurable: true,
    value(...given) {
      const url = readUrl(this),
        result = apply(plain[name], this, given);
      if (url !== undefined) url.search = apply(plain.toString, this, []);
      return result;
    },
  });
function readUrl(query) {
  const url = weakGet(urlOf, query);
  if (url === undefined) return undefined;
  const given = new PlainQuery(url.search);
  if (given.toString() === apply(plain.toString, query, [])) return url;
  for (const name of [...apply(plain.keys, query, [])]) apply(plain.delete, query, [name]);
  for (const pair of given.entries()) apply(plain.append, query, pair);
  return url;
}
Object.defineProperty(Query, "name", { value: "URLSearchParams" });
Object.defineProperty(URL.prototype, "searchParams", {
  configurable: true,
  enumerable: true,
  get() {
    const query = weakGet(queryOf, this) ?? new Query();
    weakSet(urlOf, query, this);
    weakSet(queryOf, this, query);
    return query;
  },
});

// ---- bytes as text ----
const letters = (bytes) => Array.from(bytes, (byte) => Text.fromCharCode(byte)).join("");
const fromLetters = (text) => Bytes.from(text, (letter) => letter.charCodeAt(0));
const unpadded = (text) =>
  text
    .replace(/=.*$/s, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replaceAll(/[^A-Za-z0-9+/]/g, "");
const base64Of = (bytes) => btoa(letters(bytes));
const encodings = {
  utf8: [
    (text) => new TextEncoder().encode(text),
    (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes),
  ],
  hex: [
    (text) => Bytes.from(match(/^(?:[0-9a-f]{2})*/i, text)[0].match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
    (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""),
  ],
  base64: [
    (text) => {
      const sextets = unpadded(text);
      return fromLetters(atob(sextets.length % 4 === 1 ? sextets.slice(0, -1) : sextets));
    },
    base64Of,
  ],
  base64url: [
    (text) => encodings.base64[0](text),
    (bytes) => base64Of(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""),
  ],
  latin1: [fromLetters, letters],
};
function encodingOf(given = "utf8") {
  const name = Text(given)
    .toLowerCase()
    .replace("utf-8", "utf8")
    .replace(/^(binary|ascii)$/, "latin1");
  if (Object.hasOwn(encodings, name)) return encodings[name];
  throw new Wrong("Unknown encoding: " + name.slice(0, 40) + "; there are " + keysOf(encodings).join(", ") + ".");
}
class Buffer extends Bytes {
  static from(given, encoding) {
    const bytes =
      typeof given === "string"
        ? encodingOf(encoding)[0](given)
        : isView(given)
          ? new Bytes(given.buffer, given.byteOffset, given.byteLength)
          : given instanceof ArrayBuffer
            ? new Bytes(given)
            : Bytes.from(given);
    return Buffer.concat([bytes]);
  }
  static concat(list) {
    const all = new Buffer(list.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const bytes of list) {
      all.set(bytes, at);
      at += bytes.length;
    }
    return all;
  }
  static isBuffer(value) {
    return value instanceof Buffer;
  }
  static byteLength(text) {
    return bytesIn(Text(text));
  }
  toString(encoding) {
    return encodingOf(encoding)[1](this);
  }
  equals(other) {
    return this.length === other.length && this.every((byte, at) => byte === other[at]);
  }
  toJSON() {
    return { type: "Buffer", data: [...this] };
  }
}
