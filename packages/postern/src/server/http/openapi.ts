import { OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import { noFields, partsOf, problemBody } from "@postern/core/contract";
import type { Route } from "./route.ts";

/** The OpenAPI document of the route table: what is served is what is described, because both are the same rows. */
export function describeRoutes(routes: readonly Route[]): object {
  const app = new OpenAPIHono();
  app.openAPIRegistry.registerComponent("securitySchemes", "token", {
    type: "http",
    scheme: "bearer",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "session", {
    type: "apiKey",
    in: "cookie",
    name: "postern_session",
    description: "Over TLS `__Host-postern_session`. It counts only with its proof.",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "proof", {
    type: "apiKey",
    in: "header",
    name: "x-postern-csrf",
    description: "What signing in answered as `csrf`, with every request under the cookie.",
  });
  for (const route of routes) app.openAPIRegistry.registerPath(configOf(route));
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Postern",
      version: "1",
      description: "The gate that every tool call of every agent passes.",
    },
  });
}

function needsOf({ needs, probe }: Route): string {
  if (probe === true) return "Open, under every `Host`. A token that is sent must be right.";
  return needs === "nothing" ? "Open: no credential is looked at." : `Needs \`${needs}\`.`;
}

function configOf(route: Route): RouteConfig {
  const { answer, status = 200 } = route;
  const content =
    typeof answer === "string"
      ? { [answer]: { schema: { type: "string" as const } } }
      : { "application/json": { schema: answer } };
  return {
    method: route.method,
    path: route.path,
    summary: route.summary,
    description: needsOf(route),
    security: route.needs === "nothing" ? [] : [{ token: [] }, { session: [], proof: [] }],
    parameters: partsOf(route.path).map((name) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    })),
    request: {
      ...(route.query instanceof z.ZodObject && { query: route.query }),
      ...(route.body !== undefined &&
        route.body !== noFields && {
          body: { content: { "application/json": { schema: route.body } } },
        }),
    },
    responses: {
      [status]: { description: "Done.", ...(!(answer instanceof z.ZodVoid) && { content }) },
      default: {
        description: "Refused: `error.code` says why.",
        content: { "application/json": { schema: problemBody } },
      },
    },
  };
}
