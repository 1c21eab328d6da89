import { afterEach } from "vitest";
import type { RuntimeOptions } from "../../src/index.ts";
import { type House, house } from "./house.ts";
import { type HttpHouse, httpHouse } from "./http-house.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** A house behind its HTTP door, for the tests of a file; each ends with its test. */
export interface ApprovalScene {
  readonly inside: House;
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
  more: Parameters<typeof house>[1] = [],
): Promise<ApprovalScene> {
  const inside = await house({ approvals: { patience: "suspend" }, ...options }, more);
  const http = await httpHouse(inside.runtime, { clock: inside.clock });
  open.push(http, inside);
  const said = async (path: string, ask: Parameters<HttpHouse["ask"]>[1]): Promise<readonly [number, Fields]> => {
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
