import fc from "fast-check";
import { expect, it } from "vitest";
import { type Frame, parseStream } from "../../console/src/live/sse.ts";

async function framesOf(pieces: readonly Uint8Array[]): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  await parseStream(
    ReadableStream.from(pieces),
    () => undefined,
    (frame) => frames.push(frame),
  );
  return frames;
}

it("reads the same events from any division into pieces", async () => {
  const text =
    'id: 1042\nevent: gate.required\ndata: {"summary":"ümlaut 😀"}\n\n: breath\n\nid: 1043\ndata: a\ndata: b\n\n';
  const bytes = new TextEncoder().encode(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 8 }), async (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((end, at) => bytes.slice(places[at], end));
      expect(await framesOf(pieces)).toEqual([
        { id: "1042", event: "gate.required", data: '{"summary":"ümlaut 😀"}' },
        { id: "1043", event: "message", data: "a\nb" },
      ]);
    }),
  );
});

it("calls back for every piece, and reads a reset without data", async () => {
  const pieces = [": breath\n\n", "event: reset\ndata: {}\n\n"].map((text) => new TextEncoder().encode(text));
  let heard = 0;
  const frames: Frame[] = [];
  await parseStream(
    ReadableStream.from(pieces),
    () => (heard += 1),
    (frame) => frames.push(frame),
  );
  expect(heard).toBe(2);
  expect(frames).toEqual([{ id: "", event: "reset", data: "{}" }]);
});
