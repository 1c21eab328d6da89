import type { AnyTool } from "../kinds.ts";

/**
 * A group of related tools. Wrappers change what is offered, never what is enforced: that is the gates' business.
 * A toolbox is one; so is anything else that can list tools.
 */
export interface Toolset {
  tools(): readonly AnyTool[];
}
