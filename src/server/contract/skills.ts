import { z } from "@hono/zod-openapi";
import { runId, text } from "./fields.ts";
import { route, type View } from "./route.ts";

const skill = z
  .object({
    name: text,
    description: text,
    version: text,
    allowed_tools: z.array(text),
    license: text.optional(),
    compatibility: text.optional(),
    category: text.optional(),
    tags: z.array(text),
    aliases: z.array(text),
    metadata: z.record(text, text),
    path: text.nullable().openapi({ description: "Its folder; null: it was given in code." }),
    warnings: z.array(text),
  })
  .openapi("Skill");
export type SkillView = View<typeof skill>;

const problem = z.object({ path: text, problem: text, fix: text }).openapi("SkillProblem");
export type SkillProblemView = View<typeof problem>;

export const skillList = z
  .object({
    skills: z.array(skill),
    refused: z.array(problem).openapi({ description: "What was found and not loaded." }),
    notes: z.array(problem).openapi({ description: "Problems of the folders." }),
  })
  .openapi("Skills");
export type SkillList = View<typeof skillList>;

const active = z.object({ run_id: text, active: z.array(text) }).openapi("ActiveSkills");

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
