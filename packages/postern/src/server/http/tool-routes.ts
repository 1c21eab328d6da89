import { defined, nearest, noOpaqueFields, RuntimeFault, toSnakeCase } from "@postern/core";
import { artifacts, health, type Input, servers, type tool, tools } from "@postern/core/contract";
import type { Runtime } from "../../runtime/api/api.ts";
import type { Offer } from "../../tools/tool.ts";
import type { Who } from "../credentials.ts";
import { serverToWire, toolChangesToWire, toolToWire } from "../wire.ts";
import { problem } from "./answers.ts";
import { actorOf } from "./caller.ts";
import { isJson, wrongType } from "./request-body.ts";
import { type Route, serve } from "./route.ts";

export const toolRoutes: readonly Route[] = serve(tools, {
  list: ({ runtime, by, query }) => ({
    tools: offeredTo(runtime, by, query.run_id).map((action) => shown(runtime, action)),
  }),
  show: ({ runtime, by, part }) => {
    const offered = offeredTo(runtime, by);
    const actions = offered.filter((action) => action.tool === part("name"));
    if (actions.length === 0) return unknownTool(part("name"), offered);
    return { tool: part("name"), actions: actions.map((action) => shown(runtime, action)) };
  },
  changes: ({ runtime, part }) => {
    const changes = runtime.pins.changes(part("name"));
    return changes === undefined ? unpinned(runtime, part("name")) : toolChangesToWire(changes);
  },
  approve: async ({ runtime, by, part, body }) => {
    const approved = await runtime.pins.approve(part("name"), { ...body, ...actorOf(by) });
    if (approved.approved) return toolChangesToWire(approved.changes);
    return approved.why === "tool_unknown" ? unpinned(runtime, part("name")) : problem(approved.why, approved.message);
  },
  statistics: async ({ runtime, by, query }) => {
    const { tenant } = by.principal;
    const { from, to } = query;
    if (from !== undefined && to !== undefined && from >= to)
      return problem("request_invalid", "The query does not fit at `from`: it must be before `to`.");
    return toSnakeCase(await runtime.statistics({ tenant, ...query }), noOpaqueFields);
  },
});

export const healthRoutes: readonly Route[] = serve(health, {
  show: async ({ runtime, rejected = [] }) => {
    const { servers: connected, ...health } = await runtime.checkHealth();
    return { ...health, rejected, servers: connected.map(serverToWire) };
  },
});

export const serverRoutes: readonly Route[] = serve(servers, {
  reconnect: async ({ runtime, by, part, body: { reason } }) => {
    const name = part("name");
    const server = await runtime.reconnectServer(name);
    if (server === undefined)
      return problem("server_unknown", `There is no server \`${name.slice(0, 80)}\`; \`postern servers\` lists them.`);
    if (server === "busy")
      return problem(
        "server_busy",
        `Calls run at server \`${name}\`: their outcome would be unknown. Try again when they have ended, or switch the server off so that no new one begins.`,
      );
    const { status, problem: why = "" } = server;
    await runtime.note("operator.action.server_reconnected", `Server ${name} connected again: it is ${status}`, {
      ...actorOf(by),
      outcome: status === "connected" ? "success" : "failure",
      data: { server: name, status, ...defined({ reason }) },
    });
    if (status !== "connected") return problem("connection_failed", `Server \`${name}\` is not connected: ${why}`);
    return serverToWire(server);
  },
});

export const artifactRoutes: readonly Route[] = serve(artifacts, {
  read: async ({ runtime, by, part, query: { agent, user } }) => {
    const digest = part("digest");
    const missing = problem("artifact_unavailable", "There is no such artifact, or it is not yours.");
    if (!/^[0-9a-f]{64}$/.test(digest)) return missing;
    if (by.kind === "agent" && (agent !== undefined || user !== undefined)) {
      return problem(
        "request_invalid",
        "Only an operator may name whose artifact it is; leave `agent` and `user` out.",
      );
    }
    const { tenant } = by.principal;
    const { order } = by;
    const named = agent === undefined ? undefined : { tenant, agent, ...defined({ user }) };
    try {
      const { meta, chunks, notes } =
        order === undefined && by.kind === "agent"
          ? await runtime.readArtifact(digest, by.principal)
          : order !== undefined
            ? { ...(await order.openArtifact(digest)), notes: [] }
            : { ...(await runtime.artifacts.openStream(digest, named ?? by.principal)), notes: [] };
      const headers = {
        ...artifactHeaders(digest, meta.mediaType),
        "content-length": String(meta.bytes),
        ...(notes.length > 0 && { "postern-notes": asciiJson(notes) }),
      };
      return new Response(ReadableStream.from(chunks), { headers });
    } catch (error) {
      if (error instanceof RuntimeFault && error.code === "artifact_unavailable") return missing;
      throw error;
    }
  },
  keep: async ({ by: { order }, headers, readText }) => {
    const type = headers.get("content-type");
    if (!isJson(type)) return wrongType(type ?? "of no type");
    if (order === undefined)
      return problem(
        "permission_missing",
        "Only the worker of a running call keeps results here, with the order's token.",
      );
    const text = await readText(mostKeptBytes);
    return "refused" in text ? text.refused : { digest: await order.keepAnswer(text.value) };
  },
});

/** Bytes of an answer as base64 need a third more than the largest answer that can be configured. */
const mostKeptBytes = 384 * 2 ** 20;

/** A person is shown everything; an agent what policy and the active skills of its run let it see. */
function offeredTo(runtime: Runtime, by: Who, run?: string): readonly Offer[] {
  return by.kind === "person" ? runtime.offered() : runtime.offered(by.principal, run);
}

function shown(runtime: Runtime, action: Offer): Input<typeof tool> {
  return {
    ...toolToWire(action),
    health: toSnakeCase(runtime.tools.get(action.tool)?.health, noOpaqueFields),
    unavailable: runtime.tools.unavailable(action),
    blocked: runtime.tools.blocked(action.tool)?.why,
  };
}

function unknownTool(named: string, offered: readonly Offer[]): Response {
  const meant = nearest(
    named,
    offered.map((action) => action.tool),
  );
  const perhaps = meant === undefined ? "" : ` Did you mean \`${meant}\`?`;
  return problem("tool_unknown", `There is no tool \`${named.slice(0, 200)}\`.${perhaps}`);
}

function unpinned(runtime: Runtime, name: string): Response {
  if (!runtime.tools.has(name)) return unknownTool(name, []);
  return problem(
    "tool_unknown",
    `\`${name}\` comes from no server: its definition is your own, and nothing to approve.`,
  );
}

/** Header values are ASCII. */
function asciiJson(texts: readonly string[]): string {
  return JSON.stringify(texts).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The bytes are untrusted: a browser saves them and never shows them. An invalid media type is not sent on. */
function artifactHeaders(digest: string, mediaType: string): Record<string, string> {
  const isPlain = /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/.test(mediaType);
  return {
    "content-type": isPlain ? mediaType : "application/octet-stream",
    "content-disposition": `attachment; filename="${digest.slice(0, 16)}"`,
  };
}
