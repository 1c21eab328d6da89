import type { Readable } from "node:stream";
import { IdleSteps, loopShares } from "../../../system/loop-shares.ts";

/** What is short is read as it comes. */
const shortBytes = 4 * 1024;
/** A step: some forty microseconds where such reading is not yet compiled. */
const stepBytes = 1024;

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
    const steps = new IdleSteps(loopShares);
    while (left.length > 0) {
      const others = steps.next();
      if (others !== undefined) await others;
      if (left.length > 0) readOne(stepBytes);
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
    while (left.length > 0) readOne(stepBytes); // a stream may end while it is paused
  });
}
