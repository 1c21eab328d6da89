/**
 * `postern/results`: what a tool returns, artifacts, and the description of a result for a model.
 *
 * @packageDocumentation
 */
export type { ArtifactMeta, ArtifactStore, ArtifactStream, ByteRange, OwnArtifactStore } from "./artifact-store.ts";
export { describe as describeResult } from "./describe.ts";
export type { ErrorCategory, ErrorInfo, ResultArtifact, ToolResult } from "./tool-result.ts";
export { toolResult } from "./tool-result.ts";
