import type { Readable } from "node:stream";

/** Looked through within a third of a millisecond. */
const pieceBytes = 8 * 1024;

/** Reads what comes, and leaves others a turn of the loop after each piece of it: a pipe brings 64 KiB at once. */
export function readInPieces(stream: Readable, read: (piece: Buffer) => void): void {
  const left: Buffer[] = [];
  const readOne = (): void => {
    const [first = Buffer.alloc(0)] = left;
    if (first.length > pieceBytes) left[0] = first.subarray(pieceBytes);
    else left.shift();
    read(first.subarray(0, pieceBytes));
  };
  const readOn = (): void => {
    if (left.length > 0) readOne();
    if (left.length > 0) setImmediate(readOn);
    else stream.resume();
  };
  stream.on("data", (chunk: Buffer) => {
    left.push(chunk);
    if (left.length > 1) return;
    readOne();
    if (left.length === 0) return;
    stream.pause();
    setImmediate(readOn);
  });
  stream.once("end", () => {
    while (left.length > 0) readOne(); // a stream may end while it is paused
  });
}
