/** A client sends a call again while it still runs, over each protocol, to a real gateway. */
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { readToken } from "../../packages/postern/src/server/credentials.ts";
import { Gateway } from "../fakes/gateway.ts";
import { mcpRevisions, timeoutMs } from "../fakes/gateway-story.ts";

const refused = { isError: true, structuredContent: { code: "in_progress" } };

async function overHttp(gateway: Gateway, job: string): Promise<unknown> {
  const token = await readToken(join(gateway.folder, ".postern"), "agent");
  const answer = await fetch(new URL("/v1/calls", gateway.url), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ tool: "work", arguments: { job } }),
  });
  return answer.json();
}

const overMcp = (client: Client, job: string): Promise<unknown> =>
  client.callTool({ name: "work", arguments: { job } }, { timeout: timeoutMs });

it.each(mcpRevisions)(
  "a call runs once when another client sends it again meanwhile (MCP %s)",
  { timeout: timeoutMs },
  async (era) => {
    await using gateway = await Gateway.started();
    const [client, other] = [await gateway.connect(era), await gateway.connect(era)];
    const first = overMcp(client, "one");
    await expect.poll(() => gateway.diary).toEqual(["one"]);
    expect(await overMcp(client, "one")).toMatchObject(refused);
    expect(await overMcp(other, "one")).toMatchObject(refused);
    expect(await overHttp(gateway, "one")).toMatchObject({ refusal: { code: "in_progress" } });
    const second = overHttp(gateway, "two");
    await expect.poll(() => gateway.diary).toEqual(["one", "two"]);
    expect(await overHttp(gateway, "two")).toMatchObject({ refusal: { code: "in_progress" } });
    for (const job of ["one", "two"]) gateway.letGo(job);
    expect(await first).toMatchObject({ content: [{ text: "did one" }] });
    expect(await second).toMatchObject({ status: "ok" });
    expect(gateway.diary).toEqual(["one", "two"]);
  },
);
