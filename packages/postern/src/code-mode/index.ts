/**
 * `postern/code-mode`: what a script may use.
 *
 * @packageDocumentation
 */

export type { ChainOptions } from "./chain-options.ts";
