/** The events that match a filter, as lines. */
import type { AuditEventView } from "@postern/core/contract";
import type { AuditFilter } from "../../audit/log.ts";
import type { Runtime } from "../../runtime/api/api.ts";

type Format = "jsonl" | "csv";

const pageSize = 500;

const columns: Readonly<Record<string, (event: AuditEventView) => string | number | undefined>> = {
  seq: ({ seq }) => seq,
  timestamp: ({ timestamp }) => timestamp,
  type: ({ type }) => type,
  outcome: ({ outcome }) => outcome,
  agent: ({ principal }) => principal?.agent,
  user: ({ principal }) => principal?.user,
  decided_by: ({ decided_by }) => decided_by,
  decided_via: ({ decided_via }) => decided_via,
  tool: ({ tool_name }) => tool_name,
  action: ({ action }) => action,
  risk: ({ risk_level }) => risk_level,
  verdict: ({ verdict }) => verdict,
  code: ({ code }) => code,
  reason: ({ reason }) => reason,
  summary: ({ summary }) => summary,
  run: ({ refs }) => refs.run,
  call: ({ refs }) => refs.tool_call,
  approval: ({ refs }) => refs.approval,
  trace: ({ trace_id }) => trace_id,
  tenant: ({ tenant }) => tenant,
};

/** Old to new. Events that come meanwhile are not among them. */
export function exportedEvents(
  { audit }: Pick<Runtime, "audit">,
  where: AuditFilter,
  format: Format,
): AsyncGenerator<string> {
  return format === "csv" ? csvLines(eventsIn(audit, where)) : jsonLines(eventsIn(audit, where));
}

async function* eventsIn(audit: Runtime["audit"], where: AuditFilter): AsyncGenerator<AuditEventView> {
  const end = audit.size;
  for (let after = -1; ; ) {
    const page = await audit.query({ ...where, after, limit: pageSize });
    for (const event of page) if (event.seq < end) yield event;
    after = page.at(-1)?.seq ?? end;
    if (page.length < pageSize || after >= end) return;
  }
}

async function* jsonLines(events: AsyncIterable<AuditEventView>): AsyncGenerator<string> {
  for await (const event of events) yield JSON.stringify(event);
}

async function* csvLines(events: AsyncIterable<AuditEventView>): AsyncGenerator<string> {
  yield Object.keys(columns).join(",");
  for await (const event of events)
    yield Object.values(columns)
      .map((cellOf) => csvCell(cellOf(event)))
      .join(",");
}

/** RFC 4180. An apostrophe keeps a spreadsheet from reading a text as a formula. */
export function csvCell(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/.test(value) ? `'${value}` : value;
  return `"${safe.replaceAll('"', '""')}"`;
}
