import type { Json } from "@postern/core";
import type { ProviderSpecs } from "postern/tools";
import type { Viewport } from "./actions.ts";

/** Members of `browser_toolset_20260801` that are not supported: other tabs, element references, scripts, files. */
const notDone = [
  ...["list_tabs", "new_tab", "switch_tab", "close_tab", "read_page", "find", "form_input", "scroll_to"],
  ...["file_upload", "javascript_exec", "read_console", "read_network"],
];

/** The declaration that is sent, where a provider has two. */
export interface ComputerDeclarations {
  /** Default: `computer`. */
  readonly openai?: "computer" | "computer_use_preview";
  /** Default: `computer_toolset_20260801`. The other is the beta's, and states the viewport. */
  readonly anthropic?: "computer_toolset_20260801" | "computer_20251124";
}

export function computerSpecs({ width, height }: Viewport, { openai, anthropic }: ComputerDeclarations): ProviderSpecs {
  return {
    openai:
      openai === "computer_use_preview"
        ? { type: openai, display_width: width, display_height: height, environment: "browser" }
        : { type: "computer" },
    anthropic:
      anthropic === "computer_20251124"
        ? { type: anthropic, name: "computer", display_width_px: width, display_height_px: height, enable_zoom: true }
        : { type: "computer_toolset_20260801" },
    // `search` opens a search engine of Google's choice.
    google: { computerUse: { environment: "ENVIRONMENT_BROWSER", excludedPredefinedFunctions: ["search"] } },
  };
}

const parameters: Json = {
  type: "object",
  properties: {
    action: { type: "string", enum: ["navigate", "get_page_text"] },
    url: { type: ["string", "null"], description: "For navigate: an absolute URL, or back, forward or reload." },
  },
  required: ["action", "url"],
  additionalProperties: false,
};

/** OpenAI's computer has no address bar, so its model gets a function for it. Gemini's has its own. */
export function browserSpecs(description: string): ProviderSpecs {
  return {
    openai: { type: "function", name: "browser", description, parameters, strict: true },
    anthropic: {
      type: "browser_toolset_20260801",
      configs: Object.fromEntries(notDone.map((name) => [name, { enabled: false }])),
    },
  };
}
