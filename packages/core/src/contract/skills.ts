import { z } from "zod";
import { component, each, optional, runId, text, texts } from "./fields.ts";
import { route, type View } from "./route.ts";

const skill = component("Skill", {
  ...each(text, "name", "description", "version"),
  allowed_tools: texts,
  ...optional({ license: text, compatibility: text, category: text }),
  tags: texts,
  aliases: texts,
  metadata: z.record(text, text),
  path: text.nullable().describe("Its folder; null: it was given in code."),
  warnings: texts,
});
export type SkillView = View<typeof skill>;

const problem = component("SkillProblem", { path: text, problem: text, fix: text });
export type SkillProblemView = View<typeof problem>;

export const skillList = component("Skills", {
  skills: z.array(skill),
  refused: z.array(problem).describe("What was found and not loaded."),
  notes: z.array(problem).describe("Problems of the folders."),
});
export type SkillList = View<typeof skillList>;

const active = component("ActiveSkills", { run_id: text, active: texts });

export const skills = {
  list: route("get", "/v1/skills", "skills:read", {
    summary: "The skills that were found, with their warnings; and what was not loaded, and why.",
    answer: skillList,
  }),
  activate: route("post", "/v1/skills/{name}/activate", "skills:write", {
    summary: "Hold a run to a skill: its instructions, and only the tools it allows.",
    body: z.strictObject({ run_id: runId }),
    answer: active,
  }),
  deactivate: route("post", "/v1/skills/{name}/deactivate", "skills:write", {
    summary: "Let a run go on without a skill.",
    body: z.strictObject({ run_id: runId }),
    answer: active,
  }),
};
