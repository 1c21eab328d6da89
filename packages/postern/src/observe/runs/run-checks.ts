/** Checks of what a program passes to the runs API. */

import { checkActorFields, checkMember, checkMembers, type Kind, RuntimeFault } from "@postern/core";
import { checkPrincipal } from "../../call/authority.ts";
import type { RunAbout, RunFilter, RunName, Runs } from "./runs.ts";

const code = "request_invalid";
const ofAbout: Readonly<Record<keyof RunAbout | "by" | "principal", Kind>> = {
  task: "a text or an object",
  taskId: "a text",
  prompt: "a text",
  systemPrompt: "a text",
  transcript: "a text",
  deliverables: "a list of texts",
  by: "an object",
  principal: "an object",
};
const ofEnd: Readonly<Record<keyof NonNullable<Parameters<Runs["finish"]>[1]>, Kind>> = {
  state: ["completed", "failed"],
  reason: "a text",
  by: "an object",
};
const limit = "a whole number from 0";
const ofRuns: Readonly<Record<keyof RunFilter, Kind>> = {
  tenant: "a text",
  agent: "a text",
  principal: "an object",
  limit,
  after: "a text",
};
const ofEvents: Readonly<Record<keyof NonNullable<Parameters<Runs["events"]>[1]>, Kind>> = {
  after: limit,
  limit,
  type: "a text",
};
const mostDeliverables = 1_000;

/** @throws RuntimeFault `request_invalid`; whether the id can be a run's is the folder's to say */
export function checkRun(name: RunName): void {
  checkMembers(name, { code, what: "The run", members: { runId: "a text", tenant: "a text" }, needed: ["runId"] });
}

/** @throws RuntimeFault `request_invalid`, also for a deliverable that is no path inside the folder, and for too many of them */
export function checkAbout(about: NonNullable<Parameters<Runs["begin"]>[1]>): void {
  checkMembers(about, { code, what: "The description of the run", members: ofAbout });
  const stranger = Object.keys(about).find((name) => !Object.hasOwn(ofAbout, name));
  if (stranger !== undefined)
    throw new RuntimeFault(
      code,
      `\`${stranger}\` is no field of the description of a run; there are ${Object.keys(ofAbout).join(", ")}.`,
    );
  const { deliverables = [], by, principal } = about;
  if (by !== undefined) checkActorFields(by, code);
  if (principal !== undefined) checkPrincipal(principal);
  for (const path of deliverables) checkDeliverable(path);
  if (deliverables.length > mostDeliverables)
    throw new RuntimeFault(code, `A run can have ${mostDeliverables} deliverables, not more.`);
}

/** @throws RuntimeFault `request_invalid` */
export function checkEnd(ended: NonNullable<Parameters<Runs["finish"]>[1]>): void {
  checkMembers(ended, { code, what: "How the run ended", members: ofEnd });
  if (ended.by !== undefined) checkActorFields(ended.by, code);
}

/** @throws RuntimeFault `request_invalid` */
export function checkRunFilter(where: RunFilter): void {
  checkMembers(where, { ...filter, members: ofRuns, of: "runs" });
}

/** @throws RuntimeFault `request_invalid` */
export function checkEventFilter(where: NonNullable<Parameters<Runs["events"]>[1]>): void {
  checkMembers(where, { ...filter, members: ofEvents, of: "a run's events" });
}

/** @throws RuntimeFault `request_invalid` */
export function checkLimit(most: number): void {
  checkMember("limit", most, limit, filter.code);
}

const filter = { code: "request_invalid", what: "The filter" } as const;

function checkDeliverable(path: string): void {
  const parts = path.replace(/\/$/, "").split("/");
  const isInside = parts.every((part) => part !== "" && part !== "." && part !== "..");
  if (path.length <= 500 && isInside && !/[\p{Cc}\p{Cs}\\]/u.test(path)) return;
  throw new RuntimeFault(
    code,
    `\`${JSON.stringify(path).slice(0, 200)}\` is no deliverable; name a file beneath \`deliverables/\`, as \`report.md\` or \`charts/\`.`,
  );
}
