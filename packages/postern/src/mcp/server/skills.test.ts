import { serve } from "@hono/node-server";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { handled } from "../../../../../test/fakes/mcp-exchange.ts";
import { defineSkill } from "../../builtin/skills/define-skill.ts";
import { createRuntime } from "../../runtime/create.ts";
import { defineTool } from "../../tools/define.ts";
import { createMcpGateway } from "./mcp-server.ts";

const tools = ["mail", "drop"].map((name) =>
  defineTool({
    name,
    description: name,
    risk: "safe",
    effects: "read",
    idempotent: true,
    input: { type: "object" },
    execute: () => name,
  }),
);
const letters = defineSkill({
  name: "letters",
  description: "Writes letters.",
  allowedTools: ["mail"],
  instructions: "# Letters",
});
const principal = { tenant: "default", agent: "ada", via: "token:ada" };
const always = ["list_skills", "load_skill", "skills"];

it.each(["2025-11-25", "2026-07-28"])(
  "a client sees the tools that the skills of its run leave, and their changes (%s)",
  async (era) => {
    await using runtime = await createRuntime({
      tools,
      skills: { folders: [], skills: [letters] },
      autonomy: "A4",
    });
    await using door = createMcpGateway({ runtime });
    const port = Promise.withResolvers<number>();
    const fetch = (request: Request): Promise<Response> => handled(door, request, { principal, scopes: [] });
    const listener = serve({ fetch, port: 0, hostname: "127.0.0.1" }, (at) => port.resolve(at.port));
    let changed = Promise.withResolvers<void>();
    const client = new Client(
      { name: "test", version: "1" },
      {
        versionNegotiation: { mode: era === "2025-11-25" ? "legacy" : { pin: era } },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => changed.resolve() } },
      },
    );
    try {
      await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${await port.promise}/mcp`)));
      const names = async (): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);
      expect(await names()).toEqual(["drop", ...always.slice(0, 2), "mail", "skills"]);

      await client.callTool({ name: "skills", arguments: { action: "activate", name: "letters" } });
      await changed.promise;
      expect(await names()).toEqual(["list_skills", "load_skill", "mail", "skills"]);
      expect(runtime.offered(principal, "another_run").map(({ tool }) => tool)).toContain("drop"); // it holds in its run

      changed = Promise.withResolvers();
      const [runId = ""] = (await runtime.calls.list()).map(({ call }) => call.authority.runId);
      await runtime.skills?.deactivate({ tenant: "default", runId }, "letters");
      await changed.promise;
      expect(await names()).toContain("drop");
    } finally {
      await client.close();
      listener.close();
    }
  },
);
