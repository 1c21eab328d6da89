/**
 * `postern/mcp`: an MCP server as a toolbox, and the pins of server tools.
 *
 * @packageDocumentation
 */

export type { McpClient } from "./client-upstream.ts";
export { connectMcp, type McpServer, McpToolbox } from "./connect-mcp.ts";
export type { StoredDefinition } from "./definition.ts";
export type { Difference } from "./differences.ts";
export type { ToolApproval, ToolApproved, ToolChanges, ToolPins } from "./pins.ts";
export type { SuspiciousText } from "./suspicious-texts.ts";
