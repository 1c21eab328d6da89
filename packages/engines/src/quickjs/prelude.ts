/**
 * The objects that a script finds around it, read from the `.js` files of `prelude/`. The host reads it and sends it to
 * each process.
 * Nothing in it is trusted. A script can change all of it, and then still can only send calls, which step-frames.ts
 * checks.
 * The files use `+` instead of template strings, because QuickJS builds those with a method that a script may replace.
 */
import { readFileSync } from "node:fs";

/** They share one scope, so their order counts. */
const parts = ["calls", "values", "local", "web", "tools", "life"].map((name) =>
  readFileSync(new URL(`./prelude/${name}.js`, import.meta.url), "utf8"),
);

/** An expression: a function that takes the setting and returns the functions that the engine calls. */
export const preludeSource: string = `(function (setting) {\n"use strict";\n${parts.join("\n")}\nreturn mailbox;\n})`;
