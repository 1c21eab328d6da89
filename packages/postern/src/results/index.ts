/**
 * `postern/results`: what a tool returns, artifacts, and what a model reads of an outcome.
 *
 * @packageDocumentation
 */
export type { ArtifactMeta, ArtifactStore, ArtifactStream, ByteRange, OwnArtifactStore } from "./artifact-store.ts";
export { describe as describeResult } from "./describe.ts";
export type { ReadOn } from "./raw-result.ts";
export { withReadOn } from "./raw-result.ts";
export type { OpenRequest, RenderedOutcome, RenderOptions } from "./render.ts";
export { openRequestOf, renderOutcome } from "./render.ts";
export type { ErrorCategory, ErrorInfo, ResultArtifact, ToolResult } from "./tool-result.ts";
export { toolResult } from "./tool-result.ts";
