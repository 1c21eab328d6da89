export type { Grant } from "../../../src/doors/contract/grants.ts";
