import { alarms } from "./alarms.ts";
import { approvals } from "./approvals.ts";
import { channels } from "./channels.ts";
import { delegations, grants } from "./grants.ts";

/** All routes. A group's name and a route's name are the client's methods: `client.approvals.list()`. */
export const contract = { alarms, approvals, channels, delegations, grants };
export type Contract = typeof contract;
