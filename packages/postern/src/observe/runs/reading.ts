/** Reads our own files. Other programs can write there, so the fields that we use are checked. */
import type { z } from "zod";
import { lazySchema } from "../../checks/zod.ts";
import { linesOf } from "../../system/line-file.ts";
import type { ErrorRecord, RunEvent, RunSummary, ToolRecord } from "./runs.ts";

const schemas = lazySchema((zod) => {
  const text = zod.string();
  const number = zod.number();
  const object = zod.looseObject({});
  return {
    event: zod.looseObject({
      ...{ sequence: zod.int(), event_id: text, type: text, timestamp: text, summary: text, severity: text },
      data: object,
    }),
    tool: zod.looseObject({
      ...{ call_id: text, tool_name: text, action: text, completed_at: text, args_digest: text, status: text },
      ...{ audit_seq: number, duration_ms: number, artifacts: zod.array(zod.unknown()) },
    }),
    error: zod.looseObject({ call_id: text, timestamp: text, code: text, message: text, audit_seq: number }),
    summary: zod.looseObject({
      ...{ run_id: text, tenant: text, state: text, created_at: text, last_event_at: text, counts: object },
      principal: zod.looseObject({ agent: text }).optional(),
      deliverables: zod.looseObject({ expected: zod.array(zod.unknown()) }),
      governance: zod.looseObject({ reasons: zod.array(zod.unknown()) }),
    }),
  };
});

/** Each returns undefined if the text is no such object. */
export function eventIn(line: string): RunEvent | undefined {
  return parsed(schemas().event, line);
}

export function recordIn(line: string): ToolRecord | undefined {
  return parsed(schemas().tool, line);
}

export function errorIn(line: string): ErrorRecord | undefined {
  return parsed(schemas().error, line);
}

export function summaryIn(text: string): RunSummary | undefined {
  return parsed(schemas().summary, text);
}

function parsed<T>(schema: z.ZodType, text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return schema.safeParse(value).success ? (value as T) : undefined; // the fields we use were checked
  } catch {
    return undefined; // it is no JSON
  }
}

export function pretty(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** So many more lines are in memory while the last ones are searched. */
const mostSpare = 1_000;

/**
 * The first or the last lines, in order, `limit` at most. A missing file has none.
 *
 * @param read returns undefined for a line that is not ours, or not wanted
 */
export async function linesIn<T>(
  path: string,
  read: (line: string) => T | undefined,
  { limit, which = "first" }: { readonly limit: number; readonly which?: "first" | "last" },
): Promise<readonly T[]> {
  let found: T[] = [];
  for await (const line of linesOf(path)) {
    const value = read(line);
    if (value === undefined) continue;
    found.push(value);
    if (which === "first" && found.length >= limit) break;
    if (found.length >= limit + mostSpare) found = found.slice(found.length - limit);
  }
  return which === "first" ? found.slice(0, limit) : found.slice(Math.max(0, found.length - limit));
}
