import { expect, it } from "vitest";
import type { ActiveSkills } from "../../policy/policy.ts";
import { defineTool } from "../define.ts";
import { Toolbox } from "../toolbox.ts";
import { skilled } from "./wrappers.ts";

const names = ["echo", "mail", "mail__send", "list_skills", "load_skill", "skills", "tool_search"];
const box = new Toolbox(
  names.map((name) => defineTool({ name, description: name, risk: "safe", idempotent: true, execute: () => name })),
);

it("offers what the active skills allow and what finds skills, asked each time; a tool that only bears a name of a finder is a tool like others", () => {
  let active: ActiveSkills | undefined;
  const set = skilled(box, () => active);
  const offered = (): readonly string[] => set.tools().map(({ name }) => name);
  expect(offered()).toEqual(names);
  active = { names: ["a"], allowedTools: undefined };
  expect(offered()).toEqual(names);
  active = { names: ["a"], allowedTools: ["echo", "mail__*", "gone", "constructor"] };
  expect(offered()).toEqual(["echo", "mail__send", "list_skills", "load_skill", "skills"]);
  active = { names: ["a"], allowedTools: [] };
  expect(offered()).toEqual(["list_skills", "load_skill", "skills"]);
});
