import { describe } from "vitest";
import { artifactContract } from "../../test/contracts/artifact-contract.ts";
import { memoryArtifacts } from "./memory-artifacts.ts";

describe("artifacts in memory", () => artifactContract(memoryArtifacts));
