/** Text and bytes: `TextEncoder`, `TextDecoder`, and of Node's `Buffer` what moves between them. */
import { decodeBytes, encodeText, isText } from "./utf8.ts";

export class Encoder {
  readonly encoding: string = "utf-8";

  encode(text: unknown = ""): Uint8Array {
    return encodeText(String(text));
  }
}

export class Decoder {
  readonly encoding: string = "utf-8";
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;

  constructor(
    label = "utf-8",
    { fatal = false, ignoreBOM = false }: { readonly fatal?: boolean; readonly ignoreBOM?: boolean } = {},
  ) {
    if (!/^(?:utf-?8|unicode-1-1-utf-8)$/i.test(String(label).trim()))
      throw new RangeError(`Scripts decode UTF-8; \`${String(label).slice(0, 40)}\` is not here.`);
    this.fatal = fatal;
    this.ignoreBOM = ignoreBOM;
  }

  decode(given: ArrayBuffer | ArrayBufferView = new Uint8Array()): string {
    const bytes = bytesOf(given);
    if (this.fatal && !isText(bytes)) throw new TypeError("The encoded data was not valid for encoding utf-8");
    const text = decodeBytes(bytes);
    return this.ignoreBOM ? text : text.replace(/^\ufeff/, "");
  }
}

function bytesOf(given: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(given)
    ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength)
    : new Uint8Array(given);
}

/** @throws TypeError for an encoding that is not here */
export class ScriptBuffer extends Uint8Array {
  static override from(given: unknown, how?: unknown): ScriptBuffer {
    if (typeof given === "string") return wrapped(binaryOf(given, encodingOf(how)));
    if (given instanceof ArrayBuffer || ArrayBuffer.isView(given)) return wrapped(bytesOf(given).slice());
    return wrapped(Uint8Array.from(given as ArrayLike<number>)); // what is neither is a list of numbers, or nothing comes of it
  }

  static isBuffer(value: unknown): value is ScriptBuffer {
    return value instanceof ScriptBuffer;
  }

  static byteLength(text: string): number {
    return encodeText(String(text)).length;
  }

  static concat(list: readonly Uint8Array[]): ScriptBuffer {
    const all = new ScriptBuffer(list.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const bytes of list) {
      all.set(bytes, at);
      at += bytes.length;
    }
    return all;
  }

  override toString(how?: string): string {
    const binary = Array.from(this, (byte) => String.fromCharCode(byte)).join("");
    switch (encodingOf(how)) {
      case "utf8":
        return decodeBytes(this);
      case "base64":
        return btoa(binary);
      case "base64url":
        return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
      case "hex":
        return Array.from(this, (byte) => byte.toString(16).padStart(2, "0")).join("");
      default:
        return binary;
    }
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, at) => byte === other[at]);
  }

  toJSON(): { readonly type: "Buffer"; readonly data: number[] } {
    return { type: "Buffer", data: [...this] };
  }
}

type Encoding = "utf8" | "base64" | "base64url" | "hex" | "latin1";

function encodingOf(given: unknown): Encoding {
  const name = String(given ?? "utf8")
    .toLowerCase()
    .replace(/^utf-8$/, "utf8");
  switch (name) {
    case "utf8":
    case "base64":
    case "base64url":
    case "hex":
    case "latin1":
      return name;
    case "binary":
    case "ascii":
      return "latin1";
    default:
      throw new TypeError(`Unknown encoding: ${name.slice(0, 40)}; there are utf8, base64, base64url, hex and latin1.`);
  }
}

function binaryOf(text: string, encoding: Encoding): Uint8Array {
  if (encoding === "utf8") return encodeText(text);
  if (encoding === "hex")
    return Uint8Array.from(text.match(/^(?:[0-9a-f]{2})*/i)?.[0].match(/../g) ?? [], (pair) =>
      Number.parseInt(pair, 16),
    );
  if (encoding === "latin1") return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const plain = text
    .replace(/=.*$/s, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replaceAll(/[^A-Za-z0-9+/]/g, "");
  return Uint8Array.from(atob(plain.length % 4 === 1 ? plain.slice(0, -1) : plain), (letter) => letter.charCodeAt(0));
}

function wrapped(bytes: Uint8Array): ScriptBuffer {
  const made = new ScriptBuffer(bytes.length);
  made.set(bytes);
  return made;
}
