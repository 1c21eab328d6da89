/**
 * `postern/config`: a configuration file in TypeScript.
 *
 * @packageDocumentation
 */

export type { PosternConfig } from "./define-config.ts";
export { defineConfig } from "./define-config.ts";
