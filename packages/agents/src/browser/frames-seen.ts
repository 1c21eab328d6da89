import type { BrowserAction, Point } from "./actions.ts";

/** Where an action acts: at a point, or in the frame with the focus. */
export type Place = Point | "focus";

/** The frames that a call acts in. */
export interface FramesSeen {
  /** Of the page itself: `https://example.com`. Undefined when it does not come from the web. */
  readonly page: string | undefined;
  /** Of the frame that the call acts in. A call that only looks at the page acts in the page itself. */
  readonly target: string | undefined;
  /** Whether the focus is in a field for a password or a card. */
  readonly secretFocus: boolean;
  /** Why the call is not done. */
  readonly refusal?: string | undefined;
}

export const noPage: FramesSeen = { page: undefined, target: undefined, secretFocus: false };

/** Where an action sends events of the pointer and of keys. Empty: the action concerns the whole page. */
export function placesOf(action: BrowserAction, pointer: Point): readonly Place[] {
  switch (action.do) {
    case "type":
    case "keys":
      return ["focus"];
    case "drag":
      return [action.path[0] ?? pointer, action.path.at(-1) ?? pointer];
    case "move":
    case "click":
    case "press":
    case "release":
    case "scroll":
      return [action.at ?? pointer];
    default:
      return [];
  }
}

/** The places of a call. A click also moves the focus, so keys after it go to the frame that it hits. */
export function placesIn(actions: readonly BrowserAction[], pointer: Point): readonly Place[] {
  let [at, focus]: [Point, Place] = [pointer, "focus"];
  return actions.flatMap((action) => {
    const places = placesOf(action, at).map((place) => (place === "focus" ? focus : place));
    const last = places.at(-1);
    if (last === undefined || last === "focus" || action.do === "type" || action.do === "keys") return places;
    at = last;
    if (action.do === "click" || action.do === "press") focus = last;
    if (action.do === "drag") focus = places[0] ?? last;
    return places;
  });
}
