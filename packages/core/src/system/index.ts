/**
 * `@postern/core/system`: files, processes and addresses, for packages that run in Node.
 *
 * @packageDocumentation
 */
export type { Resolve, Target } from "./address-guard.ts";
export { systemResolve, targetOf } from "./address-guard.ts";
export type { Startable } from "./bubblewrap.ts";
export { Bubblewrap, firstOf, ownNamespaces } from "./bubblewrap.ts";
export { digestOf, sha256 } from "./digest.ts";
export { codeOf, isDamage, whyUnreadable } from "./error-code.ts";
export { freeBytes, namingFullDisk } from "./full-disk.ts";
export { Groups, isAlive } from "./groups.ts";
export { harmless } from "./harmless-log.ts";
export { Locks } from "./locks.ts";
export { makeOwnFolder, plainName } from "./own-folder.ts";
export { sourceOptions } from "./source-options.ts";
export { removeTemporaryFolder, temporaryFolder } from "./temporary-folder.ts";
