import type { defineTool } from "../../src/index.ts";

export type ProbeTool = Parameters<typeof defineTool>[0];

/** A safe tool that answers `done`; a test names only what it is about. In a list, as a runtime takes more tools. */
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

/** `post` asks a person, takes a text and writes down what it was given. */
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
