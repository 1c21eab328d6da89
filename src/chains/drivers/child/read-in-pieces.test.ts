import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { readInPieces } from "./read-in-pieces.ts";

/** As long as one turn has for it, and more. */
const readMs = 0.06;

/** What was read in each turn of the loop. */
async function turnsOf(chunks: readonly Buffer[], endsAtOnce = false): Promise<readonly Buffer[][]> {
  const stream = new PassThrough({ highWaterMark: 1 << 20 });
  const turns: Buffer[][] = [[]];
  let isOver = false;
  const others = (): void => {
    turns.push([]);
    if (!isOver) setImmediate(others);
  };
  setImmediate(others);
  readInPieces(stream, (piece) => {
    turns.at(-1)?.push(piece);
    for (const until = performance.now() + readMs; performance.now() < until; );
  });
  for (const chunk of chunks) stream.write(chunk);
  const sent = chunks.reduce((sum, { length }) => sum + length, 0);
  const all = (): boolean => turns.flat().reduce((sum, { length }) => sum + length, 0) === sent;
  if (endsAtOnce) stream.end();
  while (!all() && !stream.readableEnded) await new Promise(setImmediate);
  expect(all()).toBe(true);
  isOver = true;
  return turns.filter(({ length }) => length > 0);
}

it("what comes at once is read in pieces, with a turn for others after each that takes long", async () => {
  const sent = Buffer.alloc(64 * 1024, "0123456789abcdefg");
  const turns = await turnsOf([sent]);
  expect(turns.map((pieces) => pieces.length)).toEqual(Array(61).fill(1));
  expect(Buffer.concat(turns.flat()).equals(sent)).toBe(true);
});

it("what comes behind it waits for its turn, and stays in its place", async () => {
  const sent = [Buffer.alloc(20_000, "a"), Buffer.alloc(100, "b"), Buffer.alloc(9_000, "c"), Buffer.from("d")];
  expect(Buffer.concat((await turnsOf(sent)).flat()).equals(Buffer.concat(sent))).toBe(true);
});

it("all of it is read before its end is told", async () => {
  expect((await turnsOf([Buffer.alloc(64 * 1024)], true)).flat()).toHaveLength(61);
});

it("what is short is read as it comes", async () => {
  expect((await turnsOf([Buffer.alloc(4_096)])).flat().map(({ length }) => length)).toEqual([4_096]);
});
