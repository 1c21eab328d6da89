/** What a server tells by itself, and what it tells models about itself, reaches the clients that may see it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const eras = ["2025-11-25", "2026-07-28"] as const;
type Era = (typeof eras)[number];
const logLevel = "io.modelcontextprotocol/logLevel";

interface Notice {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

interface Scene extends ServedRuntime {
  readonly folder: string;
  /** The methods of what the server heard, without what each connection begins with. */
  heard(): readonly Notice[];
}

async function open(server: Era, options: RuntimeOptions = {}, folder = ownFolder()): Promise<Scene> {
  const command = { command: process.execPath, args: ["test/fakes/noticing-server.ts", folder] };
  const served = await serveRuntime({ servers: { one: { ...command, revision: server, risk: "safe" } }, ...options });
  const heard = (): readonly Notice[] =>
    readFileSync(join(folder, "heard"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Notice);
  return { ...served, folder, heard };
}

/** What a client is told beside answers, without members of the protocol. */
function hearing(client: Client): Notice[] {
  const told: Notice[] = [];
  client.fallbackNotificationHandler = async ({ method, params }) => {
    const { _meta, ...own } = (params ?? {}) as Record<string, unknown>;
    told.push({ method, params: own });
  };
  return told;
}

async function follow(client: Client, era: Era, uri: string): Promise<() => Promise<unknown>> {
  if (era === "2025-11-25") {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  }
  const { honoredFilter, close } = await client.listen({ resourceSubscriptions: [uri] });
  expect(honoredFilter).toEqual({ resourceSubscriptions: [uri] });
  return close;
}

const updated = (uri: string): Notice => ({ method: "notifications/resources/updated", params: { uri } });
let calls = 0;
const call = (client: Client, name: string, given: object = {}, _meta: object = {}): Promise<unknown> => {
  calls += 1;
  return client.callTool({ name: `one__${name}`, arguments: { ...given, calls }, _meta: { ..._meta } });
};

describe.each(eras.flatMap((client) => eras.map((server) => [client, server] as const)))(
  "a client of %s and a server of %s",
  (clientEra, serverEra) => {
    it("shares one subscription with other clients, until the last one leaves", async () => {
      const scene = await open(serverEra);
      const [first, second] = [await scene.connect("/mcp", clientEra), await scene.connect("/mcp/one", clientEra)];
      const [firstTold, secondTold] = [hearing(first), hearing(second)];
      const leaveFirst = await follow(first, clientEra, "one+note://1");
      const leaveSecond = await follow(second, clientEra, "note://1");
      const ofServer = serverEra === "2025-11-25" ? "resources/subscribe" : "subscriptions/listen";
      const begun = (): number =>
        scene.heard().filter(({ method, params }) => method === ofServer && JSON.stringify(params).includes("note://1"))
          .length;
      expect(begun()).toBe(1);
      await call(first, "touch", { uri: "note://1" });
      await expect.poll(() => firstTold).toContainEqual(updated("one+note://1"));
      await expect.poll(() => secondTold).toContainEqual(updated("note://1"));
      await leaveFirst();
      await call(first, "touch", { uri: "note://1" });
      await expect.poll(() => secondTold).toEqual([updated("note://1"), updated("note://1")]);
      expect(firstTold).toEqual([updated("one+note://1")]);
      await leaveSecond();
      const ended = serverEra === "2025-11-25" ? "resources/unsubscribe" : "notifications/cancelled";
      await expect.poll(() => scene.heard().map(({ method }) => method)).toContain(ended);
      expect(begun()).toBe(1);
    });

    it("is told the log messages of its calls from the level on that it asked for", async () => {
      const scene = await open(serverEra);
      const client = await scene.connect("/mcp", clientEra);
      const told = hearing(client);
      const levels = (text: string): unknown[] =>
        told
          .filter(({ params }) => (params?.["data"] as { text?: string })?.text === text)
          .map(({ params }) => params?.["level"]);
      const log = async (text: string, from?: "debug" | "error"): Promise<void> => {
        if (clientEra === "2025-11-25" && from !== undefined) await client.setLoggingLevel(from);
        const asked = clientEra === "2026-07-28" && from !== undefined ? { [logLevel]: from } : {};
        await call(client, "log", { text }, asked);
      };
      await log("first");
      await log("second", "debug");
      await log("third", "error");
      expect(levels("first")).toEqual(clientEra === "2025-11-25" ? ["info", "error"] : []);
      expect(levels("second")).toEqual(["debug", "info", "error"]);
      expect(levels("third")).toEqual(["error"]);
      const asked = scene
        .heard()
        .flatMap(({ method, params }) => (method === "logging/setLevel" ? [params?.["level"]] : []));
      expect(asked).toEqual(serverEra === "2025-11-25" ? ["debug"] : []);
    });
  },
);
