export type { GrantView } from "../../../src/doors/contract/grants.ts";
