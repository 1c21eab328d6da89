/**
 * `postern/testing`: the suites for adapters of agent libraries, stores and artifact stores. They need `vitest`.
 *
 * @packageDocumentation
 */
export type { AdapterCall, AdapterContractOptions, AdapterUnderTest } from "./adapter-contract.ts";
export { adapterContract } from "./adapter-contract.ts";
export { artifactContract } from "./artifact-contract.ts";
export { storeContract } from "./store-contract.ts";
