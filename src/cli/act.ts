import type { Command } from "commander";
import type { ExitCode } from "./exit-codes.ts";
import type { GlobalFlags } from "./host.ts";

/** Gives a command its body: the flags of all levels, and the words after its name. */
export type Act = (command: Command, run: (flags: GlobalFlags, words: readonly string[]) => Promise<ExitCode>) => void;
