import type { Readable } from "node:stream";
import { idleTurn } from "../../../system/idle-turn.ts";

/** What is short is read as it comes. */
const shortBytes = 4 * 1024;
/** Looked through within a sixth of a millisecond. */
const pieceBytes = 4 * 1024;

/** Reads what comes, and what is more than short gives way to all else: a pipe brings 64 KiB at once. */
export function readInPieces(stream: Readable, read: (piece: Buffer) => void): void {
  const left: Buffer[] = [];
  const readOne = (mostBytes: number): void => {
    const [first = Buffer.alloc(0)] = left;
    if (first.length > mostBytes) left[0] = first.subarray(mostBytes);
    else left.shift();
    read(first.subarray(0, mostBytes));
  };
  const readOn = async (): Promise<void> => {
    while (left.length > 0) {
      await idleTurn();
      if (left.length > 0) readOne(pieceBytes);
    }
    stream.resume();
  };
  stream.on("data", (chunk: Buffer) => {
    left.push(chunk);
    if (left.length > 1) return;
    readOne(shortBytes);
    if (left.length === 0) return;
    stream.pause();
    void readOn();
  });
  stream.once("end", () => {
    while (left.length > 0) readOne(pieceBytes); // a stream may end while it is paused
  });
}
