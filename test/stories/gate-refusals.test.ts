import { describe, expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { type ProbeTool, posting, probe } from "../fakes/probe.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const missing = "a".repeat(64);

/** A tool whose schema is code. */
function schemaInCode(
  validate: (value: unknown) => unknown,
  inputSchema: ProbeTool["inputSchema"] = { type: "object" },
): Partial<ProbeTool> {
  return { input: { "~standard": { version: 1, vendor: "test", validate } } as never, inputSchema };
}

describe("arguments", () => {
  it("that are themselves a reference to a missing artifact are refused", async () => {
    await using h = await runtimeFixture({}, probe());
    const { refusal } = await h.runtime.invoke({ tool: "probe", arguments: { $artifact: missing } }, asker);
    expect(refusal).toMatchObject({
      code: "artifact_unavailable",
      message: expect.stringMatching(/^`\$artifact` names the artifact `a{64}`, which is missing or not yours/),
    });
  });

  it("that hold a secret in no single value are refused without the secret", async () => {
    const value = "hunter2-hunter2-hunter2";
    const redactor = createRedactor();
    redactor.learn(value);
    await using h = await runtimeFixture({ redactor }, probe());
    const { refusal } = await h.runtime.invoke({ tool: "probe", arguments: { [value]: 1 } }, asker);
    expect(refusal).toMatchObject({
      code: "secret_in_arguments",
      message: expect.stringMatching(/^Several arguments together hold a secret/),
    });
  });

  it("are refused after 10 s if the schema never answers", async () => {
    await using h = await runtimeFixture({}, probe(schemaInCode(() => new Promise(() => {}))));
    const answer = h.runtime.invoke({ tool: "probe", arguments: {} }, asker);
    await settled();
    await h.clock.advance(10_000);
    expect((await answer).refusal).toMatchObject({
      code: "arguments_invalid",
      message: expect.stringContaining("could not be checked within 10000 ms"),
    });
  });

  it("are refused before a person is asked if an artifact up to 16 MiB does not fit", async () => {
    const ran: unknown[] = [];
    const body = { type: "string", maxLength: 3 };
    await using h = await runtimeFixture({}, posting(ran, { input: { type: "object", properties: { body } } }));
    const sent = async (bytes: number) => {
      const { digest } = await h.runtime.artifacts.put(Buffer.alloc(bytes, "x"), "text/plain", asker.principal);
      return h.runtime.invoke({ tool: "post", arguments: { body: { $artifact: digest } } }, asker);
    };
    expect((await sent(4)).refusal?.code).toBe("arguments_invalid");
    expect((await sent(16 * 2 ** 20 + 1)).status).toBe("pending");
    expect(ran).toEqual([]);
  });

  it("reach a schema in code as base64 where it says so, else as text, else as bytes", async () => {
    const base64 = { type: "string", contentEncoding: "base64" };
    const inputSchema = { type: "object", properties: { coded: base64, text: { type: "string" }, raw: {} } } as const;
    const ran: unknown[] = [];
    const execute = (given: unknown): string => String(ran.push(given));
    await using h = await runtimeFixture({}, probe({ ...schemaInCode((value) => ({ value }), inputSchema), execute }));
    const put = async (bytes: Buffer) => ({
      $artifact: (await h.runtime.artifacts.put(bytes, "application/octet-stream", asker.principal)).digest,
    });
    const [plain, odd] = [await put(Buffer.from("hi")), await put(Buffer.from([0xff, 0xfe]))];
    const answer = await h.runtime.invoke({ tool: "probe", arguments: { coded: plain, text: plain, raw: odd } }, asker);
    expect(answer.status).toBe("ok");
    expect(ran).toEqual([{ coded: "aGk=", text: "hi", raw: Buffer.from([0xff, 0xfe]) }]);
  });
});

describe("a caller whose tools are limited", () => {
  it("hears the near name of a mistyped one of its own, and no other", async () => {
    await using h = await runtimeFixture();
    const told = async (tool: string) =>
      (await h.runtime.invoke({ tool, arguments: { to: "x" } }, { ...asker, tools: ["mail"] })).refusal;
    expect(await told("mial")).toMatchObject({
      code: "tool_unknown",
      message: "`mial` is not one of your tools; did you mean `mail`? Else use those you were given.",
    });
    expect((await told("drop"))?.message).toBe("`drop` is not one of your tools; use those you were given.");
    expect(h.ran).toEqual([]);
  });
});
