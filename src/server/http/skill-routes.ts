import type { SkillRun, Skills } from "../../builtin/skills/skills.ts";
import type { Input } from "../contract/route.ts";
import { skills } from "../contract/skills.ts";
import { answered, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { givenSkills } from "./given-skills.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";

/** Skills, and the operator's switches of what is active in a run (SPEC 11). */
export const skillRoutes: readonly Route[] = serve(skills, {
  list: ({ runtime }) => givenSkills(runtime.skills),
  activate: (request) =>
    change(request, (library, run) => library.activate(run, request.part("name"), actorOf(request.by))),
  deactivate: (request) =>
    change(request, (library, run) => library.deactivate(run, request.part("name"), actorOf(request.by))),
});

async function change(
  { runtime, by, body, part }: Pick<RouteRequest<typeof skills.activate>, "runtime" | "by" | "body" | "part">,
  make: (library: Skills, run: SkillRun) => Promise<unknown>,
): Promise<Response | Input<typeof skills.activate.answer>> {
  const library = runtime.skills;
  if (library === undefined)
    return problem("skill_unknown", `There is no skill \`${part("name")}\`: skills are off here.`);
  const run = { tenant: by.principal.tenant, runId: body.run_id };
  return answered(async () => {
    await make(library, run);
    return { run_id: run.runId, active: library.active(run) };
  }, refusedSkill);
}

function refusedSkill(code: string): "skill_unknown" | "skill_refused" | undefined {
  if (code === "skill_unknown") return code;
  return code.startsWith("skill_") ? "skill_refused" : undefined;
}
