import type { defineTool } from "../../packages/postern/src/index.ts";

export type ProbeTool = Parameters<typeof defineTool>[0];

/** Returns a list with one safe tool that answers `done`; a test names only the fields it needs. */
export function probe(more: Partial<ProbeTool> = {}): readonly [ProbeTool] {
  const plain: ProbeTool = {
    name: "probe",
    description: "Probe.",
    risk: "safe",
    effects: "read",
    idempotent: true,
    input: { type: "object" },
    execute: () => "done",
  };
  return [{ ...plain, ...more }];
}

/** A tool `post` that asks a person, takes a text and records it. */
export function posting(ran: unknown[], more: Partial<ProbeTool> = {}): readonly [ProbeTool] {
  return probe({
    name: "post",
    description: "Posts.",
    risk: "high",
    effects: "write",
    idempotent: false,
    input: { type: "object", properties: { body: { type: "string" } }, required: ["body"] },
    execute: (given: unknown) => {
      ran.push(given);
      return "posted";
    },
    ...more,
  });
}
