import { describe, expect, it } from "vitest";
import { readJson, readText } from "./request-body.ts";

const url = "http://127.0.0.1:7420/v1/calls";

/** As a server hands it over: its headers say how long it is. */
function sized(body: string, bytes = Buffer.byteLength(body)): Request {
  const headers = { "content-type": "application/json", "content-length": String(bytes) };
  return new Request(url, { method: "POST", body, headers });
}

describe("a body that says how long it is", () => {
  it("is read without a stream being made of it", async () => {
    const request = sized('{"tool":"écho"}');
    Object.defineProperty(request, "body", {
      get: () => {
        throw new Error("A stream was made.");
      },
    });
    expect(await readJson(request, 100)).toEqual({ value: { tool: "écho" } });
  });

  it("is refused if its stated length or its real length is too large", async () => {
    const announced = sized('{"tool":"echo"}', 1_000);
    const longer = sized(JSON.stringify({ tool: "x".repeat(200) }), 10);
    for (const request of [announced, longer]) {
      const read = await readText(request, 100);
      expect("refused" in read && read.refused.status).toBe(413);
    }
  });

  it("is refused where it is not UTF-8", async () => {
    const headers = { "content-type": "application/json", "content-length": "1" };
    const read = await readText(new Request(url, { method: "POST", body: new Uint8Array([0xff]), headers }), 100);
    expect("refused" in read && read.refused.status).toBe(400);
  });

  it("is nothing where it says nothing", async () => {
    expect(await readJson(sized(""), 100)).toEqual({ value: {} });
  });
});
