import { afterEach } from "vitest";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { type HttpFixture, httpFixture } from "./http-fixture.ts";
import { type RuntimeFixture, runtimeFixture } from "./runtime-fixture.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** A runtime behind an HTTP server; it is closed after each test of a file. */
export interface ApprovalScene {
  readonly inside: RuntimeFixture;
  get(path: string, as?: "agent" | "operator"): Promise<readonly [number, Fields]>;
  post(path: string, body?: Fields, as?: "agent" | "operator"): Promise<readonly [number, Fields]>;
  /** The approval that a call waits for. */
  held(to: string, fields?: Fields, tool?: string): Promise<string>;
}

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

export async function approvalScene(
  options: RuntimeOptions = {},
  more: Parameters<typeof runtimeFixture>[1] = [],
): Promise<ApprovalScene> {
  const inside = await runtimeFixture({ approvals: { patience: "suspend" }, ...options }, more);
  const http = await httpFixture(inside.runtime, { clock: inside.clock });
  open.push(http, inside);
  const said = async (path: string, ask: Parameters<HttpFixture["ask"]>[1]): Promise<readonly [number, Fields]> => {
    const response = await http.ask(path, ask);
    return [response.status, (await response.json()) as Fields];
  };
  return {
    inside,
    get: (path: string, as: "agent" | "operator" = "operator") => said(path, { as }),
    post: (path: string, body: Fields = {}, as: "agent" | "operator" = "operator") => said(path, { as, body }),
    held: async (to: string, fields: Fields = {}, tool = "mail"): Promise<string> => {
      const [, outcome] = await said("/v1/calls", { as: "agent", body: { tool, arguments: { to }, ...fields } });
      return String(outcome["approval_id"]);
    },
  };
}
