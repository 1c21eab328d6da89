import { describe } from "vitest";
import { artifactContract } from "../testing/artifact-contract.ts";
import { MemoryArtifacts } from "./memory-artifacts.ts";

describe("artifacts in memory", () => artifactContract((options) => new MemoryArtifacts(options)));
