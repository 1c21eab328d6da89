import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
const printed = join(cli.folder, "told");

const entry = (path: string): string => JSON.stringify(join(import.meta.dirname, "..", path));

/** What only code can say: a guardrail that is a function, a channel of one's own, a tool. */
const config = `import { appendFileSync } from "node:fs";
import { defineTool } from ${entry("index.ts")};
import { defineConfig } from ${entry("config/index.ts")};
import type { Channel } from ${entry("observe/index.ts")};
import type { Guardrail } from ${entry("policy/index.ts")};
const rivals: Guardrail = { name: "rivals", on: "arguments",
  check: ({ text }) => (text.includes("rival") ? [{ effect: "DENY", why: "it names a rival" }] : []) };
const pager: Channel = { name: "pager", kind: "pager", target: "the pager on the desk", wants: () => true,
  deliver: async ({ type, link }) => { appendFileSync(${JSON.stringify(printed)}, type + " " + link + "\\n"); return { delivered: true }; } };
const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const common = { description: "Says it.", inputSchema: input, execute: ({ text }: { text: string }) => text } as const;
export default defineConfig({
  listen: { port: 0 },
  tools: [defineTool({ ...common, name: "say", risk: "safe", idempotent: true }), defineTool({ ...common, name: "send", risk: "high", idempotent: false })],
  guardrails: [rivals, { use: "personal_data" } as never],
  channels: { also: [pager], consoleUrl: () => "https://desk.example" },
  audit: { recheck: { entriesPerSecond: 100 } },
});
`;

it("a configuration in code gives guardrails and channels of its own, as `createRuntime` takes them", async () => {
  const file = join(cli.folder, "postern.config.ts");
  writeFileSync(file, config);
  const to = ["--data", join(cli.folder, "code"), "--config", file];
  const { child } = await cli.start(join(cli.folder, "code"), "--config", file);
  try {
    expect(await cli.run("call", "say", "text=hello", ...to)).toMatchObject({ code: 0, out: "hello\n" });
    for (const text of ["a rival", "4111 1111 1111 1111"])
      expect((await cli.run("call", "say", `text=${text}`, ...to)).code, text).not.toBe(0);
    expect((await cli.run("call", "say", "text=a rival", ...to)).err).toContain("it names a rival");
    expect((await cli.run("channels", ...to)).out).toContain("the pager on the desk");
    await cli.run("call", "send", "text=hello", ...to);
    await expect
      .poll(() => existsSync(printed) && readFileSync(printed, "utf8"))
      .toMatch(/^approval\.requested https:\/\/desk\.example\//);
  } finally {
    child.kill("SIGKILL");
  }
});
