import { expect, it } from "vitest";
import { httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { csvCell } from "./audit-export.ts";

it("counts and exports the events that match, and asks for a format where there are filters", async () => {
  await using inside = await runtimeFixture({ approvals: { patience: "suspend" } });
  await using http = await httpFixture(inside.runtime, { clock: inside.clock });
  const said = Array.from({ length: 1_020 }, (_, i) => `number ${i}`);
  for (const text of said) await inside.runtime.note("example.said", text);
  await http.ask("/v1/calls", { as: "agent", body: { tool: "mail", arguments: { to: "b" }, run_id: "two" } });
  const get = async (path: string) => http.ask(`/v1/audit/${path}`, { as: "operator" });
  const counted = async (query: string) => (await get(`count?${query}`)).json();
  expect(await counted("run_id=two&type=gate.required")).toEqual({ count: 1, more: false });
  expect(await counted("type=example.said")).toEqual({ count: 1_000, more: true });

  const lines = (await (await get("export?type=example.said&format=jsonl")).text()).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).summary)).toEqual(said);

  const csv = await get("export?run_id=two&type=gate.required&format=csv");
  expect(csv.headers.get("content-type")).toMatch(/^text\/csv/);
  expect(csv.headers.get("content-disposition")).toBe('attachment; filename="audit.csv"');
  const [head, row, ...more] = (await csv.text()).trimEnd().split("\n");
  expect(head).toMatch(/^seq,timestamp,type,outcome,agent,/);
  expect(row).toMatch(/^\d+,"[^"]+","gate.required","info","local-agent",/);
  expect(more).toEqual([]);

  expect((await get("export?run_id=two")).status).toBe(422);
  expect((await get("export?format=xml")).status).toBe(422);
  expect((await (await get("export")).text()).startsWith("#postern-audit 1 ")).toBe(true);
});

it("writes no cell that a spreadsheet reads as a formula", () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "\uff1d1"])
    expect(csvCell(text)).toBe(`"'${text}"`);
  expect(csvCell('say "a,b"')).toBe('"say ""a,b"""');
  expect(csvCell(-1)).toBe("-1");
  expect(csvCell(undefined)).toBe("");
});
