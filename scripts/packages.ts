/** The packages that are published, lowest first. */
import { join } from "node:path";

export const root: string = join(import.meta.dirname, "..");

export const packages = ["core", "engines", "postern", "agents"] as const;
