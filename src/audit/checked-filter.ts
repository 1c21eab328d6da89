import { RuntimeFault } from "../calls/fault.ts";
import { shown } from "../calls/shown.ts";
import type { AuditFilter, LatestFilter } from "./log.ts";

const kinds: Readonly<Record<keyof AuditFilter | keyof LatestFilter, "text" | "number" | "ids">> = {
  traceId: "text",
  type: "text",
  tool: "text",
  outcome: "text",
  tenant: "text",
  callId: "ids",
  runId: "text",
  agent: "text",
  text: "text",
  since: "number",
  until: "number",
  after: "number",
  before: "number",
  limit: "number",
};

/** @throws RuntimeFault `filter_invalid` that names the member and the value: what is not understood must not answer everything */
export function checkedFilter<Filter extends AuditFilter | LatestFilter>(where: Filter): Filter {
  if (typeof where !== "object" || where === null)
    throw new RuntimeFault("filter_invalid", `The filter is ${shown(where)}; it must be an object.`);
  for (const [name, value] of Object.entries(where)) {
    if (!Object.hasOwn(kinds, name))
      throw new RuntimeFault(
        "filter_invalid",
        `\`${name}\` is no filter of events; there are ${Object.keys(kinds).join(", ")}.`,
      );
    if (value === undefined) continue;
    const kind = kinds[name as keyof typeof kinds]; // it has it
    if (!isKind(value, kind))
      throw new RuntimeFault("filter_invalid", `\`${name}\` is ${shown(value)}; it must be ${wanted[kind]}.`);
  }
  return where;
}

const wanted = { text: "a text", number: "a number", ids: "an id or a list of ids" } as const;

function isKind(value: unknown, kind: keyof typeof wanted): boolean {
  if (kind === "number") return typeof value === "number" && !Number.isNaN(value);
  if (kind === "text") return typeof value === "string";
  return [value].flat().every((id) => typeof id === "string");
}
