/** What the screens know of the server. */
export * from "./approvals.ts";
export * from "./client.ts";
export * from "./command-name.ts";
export * from "./digests.ts";
export * from "./proof.ts";
export * from "./queries.ts";
export * from "./server-time.ts";
export * from "./session.ts";
