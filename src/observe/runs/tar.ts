import { walkFiles } from "./walk.ts";

const block = 512;
const chunkBytes = 65_536;
/** The largest value of an octal field. A larger file is left out. */
const largestBytes = 0o77777777777;

/**
 * A folder as a tar archive (POSIX ustar, names of any length by pax headers): plain files only, each with the size it had
 * when it was reached.
 */
export async function* tarOf(folder: string, top: string): AsyncGenerator<Uint8Array> {
  for await (const found of walkFiles(folder)) {
    if ("left" in found || found.bytes > largestBytes) continue;
    const path = `${top}/${found.path}`;
    const modified = Math.floor(found.modifiedMs / 1000);
    if (!isShort(path)) {
      const record = paxRecord("path", path);
      yield header("pax", { bytes: record.length, modified, type: "x" });
      yield record;
      yield padding(record.length);
    }
    yield header(isShort(path) ? path : "long-name", { bytes: found.bytes, modified, type: "0" });
    let left = found.bytes;
    while (left > 0) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, left));
      await found.file.read(chunk, 0, chunk.length, found.bytes - left); // a part that was removed is zeros
      left -= chunk.length;
      yield chunk;
    }
    yield padding(found.bytes);
  }
  yield Buffer.alloc(2 * block);
}

function isShort(path: string): boolean {
  return path.length <= 100 && /^[ -~]*$/.test(path);
}

interface Header {
  readonly bytes: number;
  /** Seconds since 1970. */
  readonly modified: number;
  readonly type: "0" | "x";
}

function header(name: string, { bytes, modified, type }: Header): Buffer {
  const made = Buffer.alloc(block);
  made.write(name, 0);
  made.write("0000600\0", 100);
  made.write(`${octal(0, 7)}\0${octal(0, 7)}\0`, 108);
  made.write(`${octal(bytes, 11)}\0${octal(modified, 11)}\0`, 124);
  made.write(" ".repeat(8), 148);
  made.write(type, 156);
  made.write("ustar\u000000", 257);
  const sum = made.reduce((total, byte) => total + byte, 0);
  made.write(`${octal(sum, 6)}\0 `, 148);
  return made;
}

/** Its length counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`;
  const size = Buffer.byteLength(rest);
  let digits = String(size).length;
  while (String(size + digits).length > digits) digits += 1;
  return Buffer.from(`${size + digits}${rest}`);
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((block - (bytes % block)) % block);
}

function octal(value: number, digits: number): string {
  return Math.max(0, value).toString(8).padStart(digits, "0");
}
