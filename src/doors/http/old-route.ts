import type { ZodType } from "zod";
import type { Permission } from "../../accounts/roles.ts";
import type { Method } from "../contract/route.ts";
import { noFields } from "../contract/route.ts";
import type { Who } from "../credentials.ts";
import { type ArrivedRequest, type Route, readRequest, refusePermission } from "./route.ts";

export { type Route, refusePermission };
export interface Asked<Fields, Query, By extends Who | undefined = Who>
  extends Omit<ArrivedRequest, "by" | "read" | "search"> {
  readonly by: By;
  readonly body: Fields;
  readonly query: Query;
}
interface Spec<Fields, Query, By extends Who | undefined> {
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly body: ZodType<Fields>;
  readonly query: ZodType<Query>;
  readonly answers: ZodType | string;
  readonly run: (asked: Asked<Fields, Query, By>) => Promise<Response> | Response;
}
export const nothing: ZodType<Record<string, never>> = noFields;
export function route<Fields, Query>(spec: Spec<Fields, Query, Who> & { readonly needs: Permission }): Route {
  return made({ ...spec } as never, spec.needs);
}
export function openRoute<Fields, Query>(spec: Spec<Fields, Query, undefined>): Route {
  return made({ ...spec } as never, "nothing");
}
function made(spec: Spec<unknown, unknown, Who | undefined>, needs: Permission | "nothing"): Route {
  const { method, path, summary, body, query, answers, run } = spec;
  const definition = { method, path, summary, needs, body, query: query as never, answer: answers };
  return {
    ...definition,
    handle: async (arrived) => {
      const by = needs === "nothing" ? undefined : arrived.by;
      if (needs !== "nothing" && by?.permissions.has(needs) !== true) return refusePermission(needs, by);
      const read = await readRequest(definition, arrived, by);
      if (read instanceof Response) return read;
      return run({ ...arrived, ...read, by });
    },
  };
}
