import fc from "fast-check";
import { expect, it } from "vitest";
import { AnswerScan, type Divided } from "./answer-scan.ts";

const pad = "x".repeat(600_000);

async function divided(written: string, size: number, isOneLine = false): Promise<Divided> {
  const scan = new AnswerScan(isOneLine);
  const bytes = Buffer.from(written);
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += size) parts.push(bytes.subarray(from, from + size));
  for (const part of parts) scan.take(part);
  return scan.divide(parts);
}

const structured = fc.oneof(
  fc.dictionary(fc.constantFrom("result", "structuredContent", "a", 'q"}', "__proto__"), fc.jsonValue()),
  fc.array(fc.jsonValue()),
);

it("the structured content of a long answer is left out of it whole, wherever it stands and whatever it holds", async () => {
  const before = fc.constantFrom(
    {},
    { content: [{ type: "text", text: '"structuredContent":{' }] },
    { _meta: { result: { structuredContent: {} } } },
  );
  const spacing = fc.constantFrom(undefined, 1);
  await fc.assert(
    fc.asyncProperty(
      structured,
      before,
      spacing,
      fc.boolean(),
      fc.integer({ min: 10_000, max: 700_000 }),
      async (value, other, space, isLast, size) => {
        const padded = Array.isArray(value) ? [...value, pad] : { ...value, pad };
        const result = isLast ? { ...other, structuredContent: padded } : { structuredContent: padded, ...other };
        const { message, held } = await divided(JSON.stringify({ jsonrpc: "2.0", id: 1, result }, null, space), size);
        expect(JSON.parse(message.toString())).toEqual({
          jsonrpc: "2.0",
          id: 1,
          result: { ...other, structuredContent: Array.isArray(value) ? [] : {} },
        });
        expect(JSON.stringify(await held?.parsed())).toBe(JSON.stringify(padded));
      },
    ),
    { numRuns: 60 },
  );
});

const content = `{"pad":"${pad}"}`;

it.each([
  ["there is little of it", '{"id":1,"result":{"structuredContent":{"a":1}}}', false],
  ["it is a text", `{"id":1,"result":{"structuredContent":"${pad}"}}`, false],
  ["there are two", `{"id":1,"result":{"structuredContent":${content},"structuredContent":${content}}}`, false],
  ["it is no result's", `{"id":1,"params":{"structuredContent":${content}}}`, false],
  ["it is deeper", `{"id":1,"result":{"a":{"structuredContent":${content}}}}`, false],
  ["it is in a batch", `[{"id":1,"result":{"structuredContent":${content}}}]`, false],
  ["its event has several lines", `data: {"id":1,\ndata: "result":{"structuredContent":${content}}}\n\n`, true],
  ["it does not end", `{"id":1,"result":{"structuredContent":{"pad":"${pad}"`, false],
])("a message stays as it came where %s", async (_why, written, isOneLine) => {
  const { message, held } = await divided(written, 50_000, isOneLine);
  expect(held).toBeUndefined();
  expect(message.toString() === written).toBe(true);
});

it("an event keeps its other lines", async () => {
  const written = `id: 7\nevent: message\ndata: {"id":1,"result":{"structuredContent":${content}}}\n\n`;
  const { message, held } = await divided(written, 50_000, true);
  expect(message.toString()).toBe('id: 7\nevent: message\ndata: {"id":1,"result":{"structuredContent":{}}}\n\n');
  expect(await held?.parsed()).toEqual({ pad });
});
