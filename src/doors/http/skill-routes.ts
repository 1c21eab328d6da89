import { z } from "@hono/zod-openapi";
import type { SkillRun, Skills } from "../../tools/builtin/skills/skills.ts";
import { skillsToWire } from "../wire-skills.ts";
import { text } from "./answer-fields.ts";
import { answer, answered, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";

const problemOfSkill = z.object({ path: text, problem: text, fix: text }).openapi("SkillProblem");
const skillsAnswer = z
  .object({
    skills: z.array(
      z
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
          path: text.nullable(),
          warnings: z.array(text),
        })
        .openapi("Skill"),
    ),
    refused: z.array(problemOfSkill),
    notes: z.array(problemOfSkill),
  })
  .openapi("Skills");
const activeAnswer = z.object({ run_id: text, active: z.array(text) }).openapi("ActiveSkills");

interface RunFields {
  readonly run_id: string;
}

const runFields: z.ZodType<RunFields> = z.strictObject({ run_id: runId });

/** Skills, and by an operator's word what is active in a run (SPEC 11). */
export const skillRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/skills",
    needs: "skills:read",
    summary: "The skills that were found, with what is odd about them; and what was not loaded, and why.",
    body: nothing,
    query: nothing,
    answers: skillsAnswer,
    run: ({ runtime }) => answer(skillsToWire(runtime.skills)),
  }),
  route({
    method: "post",
    path: "/v1/skills/{name}/activate",
    needs: "skills:write",
    summary: "Hold a run to a skill: its instructions, and only the tools it allows.",
    body: runFields,
    query: nothing,
    answers: activeAnswer,
    run: (asked) => change(asked, (skills, run) => skills.activate(run, asked.part("name"), actorOf(asked.by))),
  }),
  route({
    method: "post",
    path: "/v1/skills/{name}/deactivate",
    needs: "skills:write",
    summary: "Let a run go on without a skill.",
    body: runFields,
    query: nothing,
    answers: activeAnswer,
    run: (asked) => change(asked, (skills, run) => skills.deactivate(run, asked.part("name"), actorOf(asked.by))),
  }),
];

async function change(
  { runtime, by, body, part }: Asked<RunFields, unknown>,
  make: (skills: Skills, run: SkillRun) => Promise<unknown>,
): Promise<Response> {
  const { skills } = runtime;
  if (skills === undefined)
    return problem("skill_unknown", `There is no skill \`${part("name")}\`: skills are off here.`);
  const run = { tenant: by.principal.tenant, runId: body.run_id };
  return answered(async () => {
    await make(skills, run);
    return answer({ run_id: run.runId, active: skills.active(run) });
  }, refusedSkill);
}

function refusedSkill(code: string): "skill_unknown" | "skill_refused" | undefined {
  if (code === "skill_unknown") return code;
  return code.startsWith("skill_") ? "skill_refused" : undefined;
}
