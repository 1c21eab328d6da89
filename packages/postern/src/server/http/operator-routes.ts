/** Routes of an operator: switches, secrets, skills, alarms and notification channels. */

import { type Actor, counted, ownTenant } from "@postern/core";
import {
  type alarm as alarmSchema,
  alarms,
  channels,
  controls,
  type Input,
  secrets,
  skills,
} from "@postern/core/contract";
import type { SkillRun, Skills } from "../../builtin/skills/skills.ts";
import type { AlarmChange } from "../../observe/alarms/alarms.ts";
import type { Received } from "../../observe/notify/decisions.ts";
import type { ControlState } from "../../policy/controls.ts";
import type { Who } from "../credentials.ts";
import { alarmToWire, channelToWire, controlsToWire, skillsToWire } from "../wire.ts";
import { answered, problem } from "./answers.ts";
import { actorOf, isOfOwnTenant } from "./caller.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";

/** The operator's switches. The token says who turned one. */
export const controlRoutes: readonly Route[] = serve(controls, {
  show: ({ runtime, by }) => controlsFor(by, runtime.controls.state),
  history: async ({ runtime, by }) => {
    const { tenant } = by.principal;
    return { changes: (await runtime.controls.history()).filter((one) => (one.tenant ?? ownTenant) === tenant) };
  },
  pause: async ({ runtime, by, body }) => controlsFor(by, await runtime.controls.pause(actorOf(by), body.reason)),
  resume: async ({ runtime, by, body }) => controlsFor(by, await runtime.controls.resume(actorOf(by), body.reason)),
  pauseOne: async ({ runtime, by, body: { agent, run_id, paused, reason } }) => {
    const one =
      agent === undefined ? ({ kind: "run", name: run_id ?? "" } as const) : ({ kind: "agent", name: agent } as const);
    const what = { ...one, tenant: by.principal.tenant };
    return controlsFor(by, await runtime.controls[paused ? "pauseOne" : "resumeOne"](what, actorOf(by), reason));
  },
  autonomy: async ({ runtime, by, body }) =>
    controlsFor(by, await runtime.controls.setAutonomy(body.level, actorOf(by), body.reason)),
  tool: async ({ runtime, by, part, body }) =>
    controlsFor(by, await runtime.controls.setTool(part("name"), body.enabled, actorOf(by), body.reason)),
  server: async ({ runtime, by, part, body }) =>
    controlsFor(by, await runtime.controls.setServer(part("name"), body.enabled, actorOf(by), body.reason)),
});

/** Only the installation's own tenant learns who paused all calls. */
function controlsFor(by: Who, { pausedBy, ...state }: ControlState): Input<typeof controls.show.answer> {
  return controlsToWire(isOfOwnTenant(by) ? { ...state, pausedBy } : state, by.principal.tenant);
}

export const secretRoutes: readonly Route[] = serve(secrets, {
  changed: async ({ runtime, by, learnSecret, body: { connector, key, act } }) => {
    if (act === "set") await learnSecret?.(connector, key);
    const summary = `Secret ${connector}/${key} ${act}`;
    await runtime.note(`operator.action.secret_${act}`, summary, {
      ...actorOf(by),
      outcome: "success",
      data: { connector, key },
    });
    return { recorded: true };
  },
});

/** Skills, and the operator's switches of what is active in a run. */
export const skillRoutes: readonly Route[] = serve(skills, {
  list: ({ runtime }) => skillsToWire(runtime.skills),
  activate: (request) =>
    changeSkill(request, (library, run) => library.activate(run, request.part("name"), actorOf(request.by))),
  deactivate: (request) =>
    changeSkill(request, (library, run) => library.deactivate(run, request.part("name"), actorOf(request.by))),
});

async function changeSkill(
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
  return code === "skill_unknown" || code === "skill_refused" ? code : undefined;
}

export const alarmRoutes: readonly Route[] = serve(alarms, {
  list: ({ runtime, by, query }) => {
    const page = runtime.alarms.page({ tenant: by.principal.tenant, limit: 200, ...query });
    return { alarms: page.alarms.map(alarmToWire), next_after: page.nextAfter };
  },
  ack: (request) =>
    changeAlarm(request, (id, actor) => request.runtime.alarms.acknowledge(id, actor, request.body.reason)),
  resolve: (request) =>
    changeAlarm(request, (id, actor) => request.runtime.alarms.resolve(id, actor, request.body.reason)),
});

async function changeAlarm(
  { runtime, by, part }: RouteRequest,
  make: (id: string, actor: Actor) => Promise<AlarmChange>,
): Promise<Response | Input<typeof alarmSchema>> {
  const id = part("id");
  if (runtime.alarms.get(id)?.tenant !== by.principal.tenant)
    return problem("alarm_unknown", `There is no alarm \`${id.slice(0, 64)}\`.`);
  const changed = await make(id, actorOf(by));
  return changed.changed ? alarmToWire(changed.alarm) : problem(changed.why, changed.message);
}

export const channelRoutes: readonly Route[] = serve(channels, {
  list: ({ runtime, by }) => {
    const listed = isOfOwnTenant(by) ? (runtime.channels?.list() ?? []) : [];
    return { channels: listed.map(channelToWire) };
  },
  test: async ({ runtime, by, part }) => {
    const name = part("name");
    const sent = await runtime.channels?.test(name);
    if (sent === undefined) return unknownChannel(name);
    const data = { channel: name, delivered: sent.delivered };
    await runtime.note("operator.action.channel_tested", `Channel ${name} tested`, { ...actorOf(by), data });
    return sent.delivered ? { delivered: true } : { delivered: false, problem: sent.problem };
  },
  retry: async ({ runtime, by, part }) => {
    const name = part("name");
    const retried = await runtime.channels?.retry(name);
    if (retried === undefined) return unknownChannel(name);
    const summary = `${counted(retried, "notice")} of ${name} ${retried === 1 ? "is" : "are"} tried again`;
    const data = { channel: name, retried };
    await runtime.note("operator.action.channel_retried", summary, { ...actorOf(by), data });
    return { retried };
  },
  decide: async ({ runtime, part, headers, readText }) => {
    const read = await readText(mostBytes);
    if ("refused" in read) return read.refused;
    if (runtime.channels === undefined) return answerReceived(signatureRefused);
    return answerReceived(
      await runtime.channels.receive(part("name"), {
        id: headers.get("webhook-id"),
        timestamp: headers.get("webhook-timestamp"),
        signature: headers.get("webhook-signature"),
        body: read.value,
      }),
    );
  },
  slack: async ({ runtime, part, headers, readText }) => {
    const read = await readText(mostSlackBytes);
    if ("refused" in read) return read.refused;
    const signature = headers.get("x-slack-signature");
    const timestamp = headers.get("x-slack-request-timestamp");
    const incoming = { id: signature, timestamp, signature, body: read.value };
    const received = (await runtime.channels?.receiveFromSlack(part("name"), incoming)) ?? signatureRefused;
    return received.taken ? received.answer : problem(received.code, received.message);
  },
});

/** A decision is a few words. */
const mostBytes = 16 * 1024;
/** Slack repeats the message whose button was pressed, with its arguments. */
const mostSlackBytes = 256 * 1024;

const signatureRefused: Extract<Received, { taken: false }> = {
  taken: false,
  code: "signature_refused",
  message: "The signature, its id or its timestamp is not good for this channel.",
};

function answerReceived(received: Received): Response | Input<typeof channels.decide.answer> {
  if (!received.taken) return problem(received.code, received.message);
  const { decided } = received;
  if (!decided.decided) return problem(decided.code, decided.message);
  const { id, state, decision } = decided.approval; // no more: what would run is shown in the console
  return { approval_id: id, status: state, decided_as: decision?.as };
}

function unknownChannel(name: string): Response {
  return problem("channel_unknown", `There is no channel \`${name.slice(0, 64)}\`; \`postern channels\` lists them.`);
}
