import { defined } from "@postern/core";
import { connections as routes } from "@postern/core/contract";
import {
  type ConnectionPerson,
  type ConnectionState,
  type Connections,
  personOf,
} from "../../connections/connections.ts";
import { clientMetadataOf } from "../../connections/sign-in.ts";
import type { Who } from "../credentials.ts";
import { answered, type ProblemCode, problem } from "./answers.ts";
import { connectionCookie, cookieHeader, droppedCookie, readCookie } from "./cookies.ts";
import { type Route, type RouteRequest, refusePermission, type ServerContext, serve } from "./route.ts";

const binderSeconds = 600;

/** Sign-ins and keys of people at upstream servers. */
export const connectionRoutes: readonly Route[] = serve(routes, {
  list: ({ runtime, by }) => {
    const listed = runtime.connections?.list(personOf(by.principal)) ?? [];
    return { connections: listed.map((one) => shown(one, by)) };
  },
  begin: (request) =>
    changing(request, async (open, name, person) => {
      const { by, origin } = request;
      if (by.session === undefined)
        return problem(
          "request_invalid",
          `A sign-in is begun in the browser that finishes it: open ${origin}/connections/${encodeURIComponent(name)}.`,
        );
      const clientDocument = documentAt(request);
      const { url, binder } = await open.begin(name, person, {
        redirectUri: `${origin}${routes.finish.path}`,
        ...defined({ clientDocument }),
      });
      // Lax: the browser comes back from another site.
      const cookie = cookieHeader(connectionCookie, binder, { origin, sameSite: "Lax", maxAgeSeconds: binderSeconds });
      return Response.json({ url }, { headers: { "set-cookie": cookie } });
    }),
  enter: (request) =>
    changing(request, async (open, name, person) =>
      shown(await open.enter(name, person, request.body.keys), request.by),
    ),
  revoke: (request) => changing(request, async (open, name, person) => ({ revoked: await open.revoke(name, person) })),
  finish: async ({ runtime, query, headers, origin }) => {
    const binder = readCookie(headers, connectionCookie, origin);
    const { refused, server = "" } = (await runtime.connections?.finish(new URLSearchParams(query), binder)) ?? {
      refused: "no server asks for a sign-in",
    };
    const ended = refused === undefined ? "done" : "refused";
    if (refused !== undefined && server !== "")
      await runtime.note("connection.refused", `Sign-in at \`${server}\` refused: ${refused}`, {
        outcome: "failure",
        data: { server },
      });
    const location = `/connections${server === "" ? "" : `/${encodeURIComponent(server)}`}?sign_in=${ended}`;
    const cookie = droppedCookie(connectionCookie, { origin, sameSite: "Lax" });
    return new Response(null, { status: 303, headers: { location, "set-cookie": cookie } });
  },
  client: (request) => {
    const document = documentAt(request);
    if (document === undefined)
      return problem("route_unknown", "This Postern has no public https address (`listen.public_url`).");
    const redirectUri = new URL(routes.finish.path, document).href;
    return { client_id: document, token_endpoint_auth_method: "none", ...clientMetadataOf(redirectUri) };
  },
});

/** Where others can read what Postern is: only at a public https address. */
function documentAt({ publicUrl }: Pick<ServerContext, "publicUrl">): string | undefined {
  return publicUrl?.startsWith("https://") === true ? new URL(routes.client.path, publicUrl).href : undefined;
}

/** A connection that all people share is changed only by a person who decides about tools. */
function mayChange({ per }: ConnectionState, { permissions }: Who): boolean {
  return per === "user" || permissions.has("tools:approve");
}

function shown(state: ConnectionState, by: Who) {
  const { server, per, signsIn: signs_in, keys, connected, since, scopes } = state;
  return { server, per, signs_in, keys: [...keys], connected, may_change: mayChange(state, by), since, scopes };
}

async function changing<Answer>(
  { runtime, by, part }: Pick<RouteRequest<typeof routes.revoke>, "runtime" | "by" | "part">,
  then: (open: Connections, server: string, person: ConnectionPerson) => Promise<Answer | Response>,
): Promise<Answer | Response> {
  const { connections } = runtime;
  const name = part("server");
  const person = personOf(by.principal);
  const state = connections?.list(person).find(({ server }) => server === name);
  if (connections === undefined || state === undefined)
    return problem(
      "connection_unknown",
      `No person connects to a server \`${name.slice(0, 80)}\` here; \`postern connections\` lists where one does.`,
    );
  if (!mayChange(state, by)) return refusePermission("tools:approve", by);
  return answered(() => then(connections, name, person), connectionProblem);
}

function connectionProblem(code: string): ProblemCode | undefined {
  return code === "connection_unknown" || code === "connection_failed" || code === "request_invalid" ? code : undefined;
}
