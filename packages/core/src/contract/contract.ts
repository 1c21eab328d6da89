import { accounts, tokens } from "./accounts.ts";
import { alarms } from "./alarms.ts";
import { approvals } from "./approvals.ts";
import { audit } from "./audit.ts";
import { calls } from "./calls.ts";
import { chains } from "./chains.ts";
import { channels } from "./channels.ts";
import { connections } from "./connections.ts";
import { controls, secrets } from "./controls.ts";
import { events } from "./events.ts";
import { grants } from "./grants.ts";
import { memory } from "./memory.ts";
import { metrics } from "./metrics.ts";
import { needs } from "./needs.ts";
import { policy } from "./policy.ts";
import { probes } from "./probes.ts";
import { agentRuns, runs } from "./runs.ts";
import { openId, session } from "./session.ts";
import { skills } from "./skills.ts";
import { backups, storage } from "./storage.ts";
import { artifacts, health, servers, tools } from "./tools.ts";

/** All routes. A group's name and a route's name are the client's methods: `client.approvals.list()`. */
export const contract = {
  accounts,
  agentRuns,
  alarms,
  approvals,
  artifacts,
  audit,
  backups,
  calls,
  chains,
  channels,
  connections,
  controls,
  events,
  grants,
  health,
  memory,
  metrics,
  needs,
  openId,
  policy,
  probes,
  runs,
  secrets,
  servers,
  session,
  skills,
  storage,
  tokens,
  tools,
};
export type Contract = typeof contract;
