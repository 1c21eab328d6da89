import { z } from "@hono/zod-openapi";
import type { Actor } from "../../calls/actor.ts";
import { given } from "../../calls/given.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { RunAbout, RunName, RunSummary, Runs } from "../../watchers/archive/runs.ts";
import type { Who } from "../credentials.ts";
import { answer, answered } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { jsonObject, name, reason, runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";
import { runsOff, unknownRun } from "./run-routes.ts";
import { runAnswer } from "./run-schemas.ts";
import { sees } from "./visible.ts";

interface AboutFields {
  readonly task?: string | JsonObject | undefined;
  readonly task_id?: string | undefined;
  readonly prompt?: string | undefined;
  readonly system_prompt?: string | undefined;
  readonly transcript?: string | undefined;
  readonly deliverables?: readonly string[] | undefined;
}
interface FinishFields {
  readonly state?: "completed" | "failed" | undefined;
  readonly reason?: string | undefined;
}

const text = z.string().max(1_000_000, "is longer than a million characters");
const about: z.ZodType<AboutFields> = z.strictObject({
  task: z.union([text, jsonObject]).optional(),
  task_id: name.optional(),
  prompt: text.optional(),
  system_prompt: text.optional(),
  transcript: text.optional().openapi({ description: "Added to what is there; everything else is replaced." }),
  deliverables: z.array(name).max(1_000).optional(),
});
const finish: z.ZodType<FinishFields> = z.strictObject({
  state: z.enum(["completed", "failed"]).optional(),
  reason: reason.optional(),
});

/** An agent begins, describes and finishes runs of its own; a person those of its tenant. */
export const runChangeRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/v1/runs/{id}/begin",
    needs: "runs:write",
    summary: "Begin a run and say what it is for. An agent's first word or call makes a run its own.",
    body: about,
    query: nothing,
    answers: runAnswer,
    run: (asked) => {
      const who = asked.by.kind === "person" ? byHand(asked.by) : { principal: asked.by.principal };
      return change(asked, true, (runs, run) => runs.begin(run, { ...aboutOf(asked.body), ...who }));
    },
  }),
  route({
    method: "post",
    path: "/v1/runs/{id}/describe",
    needs: "runs:write",
    summary: "Add to what is known of a run: its task, prompts, transcript, the deliverables it owes.",
    body: about,
    query: nothing,
    answers: runAnswer,
    run: (asked) =>
      change(asked, false, (runs, run) => runs.describe(run, { ...aboutOf(asked.body), ...byHand(asked.by) })),
  }),
  route({
    method: "post",
    path: "/v1/runs/{id}/finish",
    needs: "runs:write",
    summary: "End a run: its deliverables are looked for, its folder is sealed in the audit log, its result is said.",
    body: finish,
    query: nothing,
    answers: runAnswer,
    run: (asked) =>
      change(asked, false, (runs, run) => {
        const { state, reason: why } = asked.body;
        return runs.finish(run, {
          ...(state !== undefined && { state }),
          ...(why !== undefined && { reason: why }),
          ...byHand(asked.by),
        });
      }),
  }),
];

function byHand(by: Who): { readonly by?: Actor } {
  return by.kind === "person" ? { by: actorOf(by) } : {};
}

function aboutOf({ task, task_id, prompt, system_prompt, transcript, deliverables }: AboutFields): RunAbout {
  return given({ task, taskId: task_id, prompt, systemPrompt: system_prompt, transcript, deliverables });
}

/** @param mayBeNew whether the run may be one that nobody has heard of */
async function change<Fields, Query, By extends Who>(
  { runtime: { runs }, by, part }: Asked<Fields, Query, By>,
  mayBeNew: boolean,
  make: (runs: Runs, run: RunName) => Promise<RunSummary>,
): Promise<Response> {
  if (runs === undefined) return runsOff();
  const id = part("id");
  if (!runId.safeParse(id).success) return unknownRun(id);
  const { tenant } = by.principal;
  const found = await runs.get({ runId: id, tenant });
  const isVisible = found !== undefined && sees(by, { tenant: found.tenant, agent: "", ...found.principal });
  if (found === undefined ? !mayBeNew : !isVisible) return unknownRun(id);
  return answered(
    async () => answer(await make(runs, { runId: id, tenant })),
    (code) => (code === "run_foreign" || code === "run_invalid" ? code : undefined),
  );
}
