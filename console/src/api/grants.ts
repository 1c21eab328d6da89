export type { GrantView } from "../../../src/server/contract/grants.ts";
