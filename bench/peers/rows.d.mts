import type { Row } from "../harness.ts";

export declare const rows: readonly Row[];
