import { accounts, tokens } from "./accounts.ts";
import { agentRuns } from "./agent-runs.ts";
import { alarms } from "./alarms.ts";
import { approvals } from "./approvals.ts";
import { calls } from "./calls.ts";
import { chains } from "./chains.ts";
import { channels } from "./channels.ts";
import { controls, secrets } from "./controls.ts";
import { delegations, grants } from "./grants.ts";
import { openId, session } from "./session.ts";
import { artifacts, health, tools } from "./tools.ts";

/** All routes. A group's name and a route's name are the client's methods: `client.approvals.list()`. */
export const contract = {
  accounts,
  agentRuns,
  alarms,
  approvals,
  artifacts,
  calls,
  chains,
  channels,
  controls,
  delegations,
  grants,
  health,
  openId,
  secrets,
  session,
  tokens,
  tools,
};
export type Contract = typeof contract;
