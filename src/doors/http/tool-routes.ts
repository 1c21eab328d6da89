import { z } from "@hono/zod-openapi";
import { RuntimeFault } from "../../calls/fault.ts";
import { nearest } from "../../calls/nearest.ts";
import type { Runtime } from "../../face.ts";
import type { Offer } from "../../tools/tool.ts";
import type { Who } from "../credentials.ts";
import { healthToWire, type ToolWire, toolToWire } from "../wire-tools.ts";
import { healthAnswer, toolAnswer, toolsAnswer } from "./answer-schemas.ts";
import { answer, problem } from "./answers.ts";
import { name, runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";

interface ArtifactQuery {
  readonly agent?: string | undefined;
  readonly user?: string | undefined;
}

const artifactQuery: z.ZodType<ArtifactQuery> = z.strictObject({
  agent: name.optional(),
  user: name.optional(),
});

const toolsQuery: z.ZodType<{ readonly run_id?: string | undefined }> = z.strictObject({ run_id: runId.optional() });

export const toolRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/tools",
    needs: "tools:read",
    summary: "Every action this token may be shown, with its risk, schema and health.",
    body: nothing,
    query: toolsQuery,
    answers: toolsAnswer,
    run: ({ runtime, by, query }) =>
      answer({ tools: offeredTo(runtime, by, query.run_id).map((action) => describe(runtime, action)) }),
  }),
  route({
    method: "get",
    path: "/v1/tools/{name}",
    needs: "tools:read",
    summary: "One tool: each of its actions.",
    body: nothing,
    query: nothing,
    answers: toolAnswer,
    run: ({ runtime, by, part }) => {
      const offered = offeredTo(runtime, by);
      const actions = offered.filter(({ tool }) => tool === part("name"));
      if (actions.length === 0) return unknown(part("name"), offered);
      return answer({
        tool: part("name"),
        actions: actions.map((action) => describe(runtime, action)),
      });
    },
  }),
  route({
    method: "get",
    path: "/v1/artifacts/{digest}",
    needs: "artifacts:read",
    summary:
      "An artifact's bytes, for whom it was released to. An operator names the `agent` (and `user`) it belongs to.",
    body: nothing,
    query: artifactQuery,
    answers: "application/octet-stream",
    run: sendArtifact,
  }),
  route({
    method: "get",
    path: "/v1/health",
    needs: "tools:read",
    summary: "What works and what does not, in detail.",
    body: nothing,
    query: nothing,
    answers: healthAnswer,
    run: async ({ runtime, rejected }) => answer(healthToWire(await runtime.checkHealth(), rejected)),
  }),
];

/** A person is shown everything; an agent what policy and the active skills of its run let it see. */
function unknown(named: string, offered: readonly Offer[]): Response {
  const meant = nearest(
    named,
    offered.map(({ tool }) => tool),
  );
  const perhaps = meant === undefined ? "" : ` Did you mean \`${meant}\`?`;
  return problem("tool_unknown", `There is no tool \`${named.slice(0, 200)}\`.${perhaps}`);
}

function offeredTo(runtime: Runtime, by: Who, run?: string): readonly Offer[] {
  return by.kind === "person" ? runtime.offered() : runtime.offered(by.principal, run);
}

function describe(runtime: Runtime, action: Offer): ToolWire {
  return toolToWire(action, {
    health: runtime.tools.get(action.tool)?.health,
    unavailable: runtime.tools.unavailable(action),
    blocked: runtime.tools.blocked(action.tool)?.why,
  });
}

async function sendArtifact({ runtime, by, part, query }: Asked<unknown, ArtifactQuery>): Promise<Response> {
  const digest = part("digest");
  const missing = problem("artifact_unavailable", "There is no such artifact, or it is not yours.");
  if (!/^[0-9a-f]{64}$/.test(digest)) return missing;
  if (by.kind === "agent" && (query.agent !== undefined || query.user !== undefined)) {
    return problem("request_invalid", "Only an operator may name whose artifact it is; leave `agent` and `user` out.");
  }
  const { tenant } = by.principal;
  const named =
    query.agent === undefined
      ? undefined
      : { tenant, agent: query.agent, ...(query.user !== undefined && { user: query.user }) };
  try {
    const { meta, chunks } = await runtime.artifacts.openStream(digest, named ?? by.principal);
    const headers = { ...artifactHeaders(digest, meta.mediaType), "content-length": String(meta.bytes) };
    return new Response(ReadableStream.from(chunks), { headers });
  } catch (error) {
    if (error instanceof RuntimeFault && error.code === "artifact_unavailable") return missing;
    throw error;
  }
}

/** A stranger's bytes: saved, never shown; a media type that is none would be a header of the stranger's making. */
function artifactHeaders(digest: string, mediaType: string): Record<string, string> {
  const isPlain = /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/.test(mediaType);
  return {
    "content-type": isPlain ? mediaType : "application/octet-stream",
    "content-disposition": `attachment; filename="${digest.slice(0, 16)}"`,
  };
}
