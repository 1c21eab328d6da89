import { z } from "@hono/zod-openapi";
import { RuntimeFault } from "../../calls/fault.ts";
import type { SkillRun, Skills } from "../../tools/builtin/skills/skills.ts";
import { skillsToWire } from "../wire-skills.ts";
import { answer, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./route.ts";

const text = z.string();
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

type AskedForRun = Asked<RunFields, unknown>;

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
  { runtime, by, body, part }: AskedForRun,
  make: (skills: Skills, run: SkillRun) => Promise<unknown>,
): Promise<Response> {
  const { skills } = runtime;
  const unknown = `There is no skill \`${part("name").slice(0, 200)}\`; \`GET /v1/skills\` lists what there is.`;
  if (skills === undefined) return problem("skill_unknown", unknown);
  const run = { tenant: by.principal.tenant, runId: body.run_id };
  try {
    await make(skills, run);
    return answer({ run_id: run.runId, active: skills.active(run) });
  } catch (error) {
    if (!(error instanceof RuntimeFault) || !error.code.startsWith("skill_")) throw error;
    return error.code === "skill_unknown" ? problem("skill_unknown", unknown) : problem("skill_refused", error.message);
  }
}
