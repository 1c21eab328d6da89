import { SharedValue } from "../kit/index.ts";

/** What lies over every screen, when a key or a button asked for it. */
export const overlay = new SharedValue<"help" | "menu" | "pause" | undefined>(undefined);
