/**
 * What a tab can be told to do.
 * Next: read-call.ts (providers' actions → ours), tab.ts (ours → Playwright), judge.ts (their risk), ../browser.ts (the tools).
 */
export type Point = readonly [x: number, y: number];
export type Chord = readonly string[];

/** The actions of a tab. */
export type BrowserAction =
  | { readonly do: "screenshot" | "text" | "cursor" }
  | { readonly do: "zoom"; readonly region: readonly [number, number, number, number] }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "move"; readonly at: Point }
  | {
      readonly do: "click";
      readonly at?: Point | undefined;
      readonly button: "left" | "right" | "middle";
      readonly count: number;
      readonly held: Chord;
    }
  | { readonly do: "press" | "release"; readonly at?: Point | undefined }
  | { readonly do: "drag"; readonly path: readonly Point[]; readonly held: Chord }
  | { readonly do: "scroll"; readonly at?: Point | undefined; readonly by: Point; readonly held: Chord }
  | { readonly do: "type"; readonly text: string }
  | { readonly do: "keys"; readonly chords: readonly Chord[]; readonly times: number; readonly holdMs: number }
  | { readonly do: "navigate"; readonly url: string }
  | { readonly do: "history"; readonly to: "back" | "forward" | "reload" };

/** A warning of OpenAI or Google that a person must confirm. */
export interface SafetyCheck {
  readonly id: string;
  readonly code?: string | null | undefined;
  readonly message?: string | null | undefined;
}

export type BrowserProvider = "openai" | "anthropic" | "google";

/** One call after it was read. */
export interface BrowserCall {
  readonly provider: BrowserProvider;
  readonly actions: readonly BrowserAction[];
  /** Not empty: a person must approve before they are acknowledged. */
  readonly checks: readonly SafetyCheck[];
}

export interface Viewport {
  readonly width: number;
  readonly height: number;
}
