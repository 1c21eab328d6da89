/** What the screens know of the server. */
export * from "./approvals.ts";
export * from "./checked.ts";
export * from "./client.ts";
export * from "./proof.ts";
export * from "./save.ts";
export * from "./server-time.ts";
export * from "./session.ts";
export * from "./typed.ts";
export * from "./use-pages.ts";
