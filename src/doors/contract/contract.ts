import { accounts, tokens } from "./accounts.ts";
import { alarms } from "./alarms.ts";
import { approvals } from "./approvals.ts";
import { channels } from "./channels.ts";
import { delegations, grants } from "./grants.ts";
import { openId, session } from "./session.ts";

/** All routes. A group's name and a route's name are the client's methods: `client.approvals.list()`. */
export const contract = { accounts, alarms, approvals, channels, delegations, grants, openId, session, tokens };
export type Contract = typeof contract;
