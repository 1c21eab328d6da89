/**
 * `postern/testing`: the suites for stores and artifact stores. They need `vitest`.
 *
 * @packageDocumentation
 */
export { artifactContract } from "./artifact-contract.ts";
export { storeContract } from "./store-contract.ts";
