import { alarms } from "./alarms.ts";
import { approvals } from "./approvals.ts";
import { audit } from "./audit.ts";
import { channels } from "./channels.ts";
import { events } from "./events.ts";
import { delegations, grants } from "./grants.ts";
import { memory } from "./memory.ts";
import { policy } from "./policy.ts";
import { runs } from "./runs.ts";
import { skills } from "./skills.ts";

/** All routes. A group's name and a route's name are the client's methods: `client.approvals.list()`. */
export const contract = {
  alarms,
  approvals,
  audit,
  channels,
  delegations,
  events,
  grants,
  memory,
  policy,
  runs,
  skills,
};
export type Contract = typeof contract;
