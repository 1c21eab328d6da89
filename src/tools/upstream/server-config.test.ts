import { expect, it } from "vitest";
import { z } from "zod";
import { addressOf } from "./server-config.ts";
import { serverSchema } from "./server-config-schema.ts";

const resolve = async (connector: string, key: string): Promise<string> => `<${connector}.${key}>`;

it("references to secrets are resolved in arguments, environment, address and headers, and nowhere else", async () => {
  expect(
    await addressOf(
      "s",
      {
        command: "run",
        args: ["secret://a/b", "x secret://a/b"],
        env: { TOKEN: "secret://gh/token/one" },
      },
      resolve,
    ),
  ).toEqual({
    kind: "stdio",
    command: "run",
    args: ["<a.b>", "x secret://a/b"],
    env: { TOKEN: "<gh.token/one>" },
  });
  expect(
    await addressOf("s", { url: "https://example.com/mcp", headers: { Authorization: "secret://gh/header" } }, resolve),
  ).toMatchObject({
    kind: "http",
    headers: { Authorization: "<gh.header>" },
  });
});

it.each([
  [{}, "neither"],
  [{ url: "nonsense" }, "not an http"],
  [{ url: "file:///etc/passwd" }, "not an http"],
])("refuses %j", async (config, why) => {
  await expect(addressOf("s", config, resolve)).rejects.toThrow(why);
});

it("the file's spelling is checked, and keys nobody knows are refused", () => {
  expect(
    serverSchema.parse({
      command: "x",
      call_timeout_ms: 5,
      tools: { a: { risk: "low", timeout_ms: 1 } },
    }),
  ).toMatchObject({ tools: { a: { risk: "safe" } } });
  for (const wrong of [
    { command: "x", url: "y" },
    {},
    { command: "x", cmd: 1 },
    { url: "y", args: [] },
    { command: "x", headers: {} },
    { command: "x", tools: { a: { callTimeoutMs: 1 } } },
  ]) {
    expect(serverSchema.safeParse(wrong).success).toBe(false);
  }
  expect(z.toJSONSchema(serverSchema)).toMatchObject({
    type: "object",
    additionalProperties: false,
  });
});
